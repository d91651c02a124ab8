from __future__ import annotations

import gzip
import os

import cramjam
import pytest
from aiokafka.codec import gzip_decode, lz4_decode, snappy_decode, zstd_decode
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records.compression import CorruptStreamError, compress, decompress
from barnabas.broker.core.records.record_batch import Codec

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
OTHERS = {
    Codec.GZIP: gzip_decode,
    Codec.SNAPPY: snappy_decode,
    Codec.LZ4: lz4_decode,
    Codec.ZSTD: zstd_decode,
}
SAMPLES = {
    "nothing": b"",
    "a byte": b"x",
    "text": b"the castle is far " * 9000,
    "noise": os.urandom(200_000),
    "zeros": bytes(3_000_000),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("codec", Codec)
def test_there_and_back(codec, sample):
    data = SAMPLES[sample]
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(compress(codec, memoryview(data)))) == data


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_decoder_that_is_not_ours_reads_it(codec, sample):
    data = SAMPLES[sample]
    if data or codec is not Codec.SNAPPY:  # aiokafka knows no empty snappy stream
        assert bytes(OTHERS[codec](compress(codec, data))) == data


@given(st.sampled_from(COMPRESSED), st.binary(max_size=300), st.integers(1, 2000))
def test_any_bytes_come_back(codec, data, times):
    assert decompress(codec, compress(codec, data * times)) == data * times


@pytest.mark.parametrize("codec", COMPRESSED)
def test_what_holds_too_much_is_not_unpacked(codec):
    stream = compress(codec, bytes(1_000_000))
    assert len(decompress(codec, stream, 1_000_000)) == 1_000_000
    with pytest.raises(CorruptStreamError, match="into 999999 bytes"):
        decompress(codec, stream, 999_999)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_what_is_no_stream_says_so(codec):
    with pytest.raises(CorruptStreamError, match="cannot be decompressed"):
        decompress(codec, b"\x17 no stream of any codec")
    with pytest.raises(CorruptStreamError, match="cannot be decompressed"):
        decompress(codec, compress(codec, SAMPLES["text"])[:-30])


def test_lz4_blocks_do_not_depend_on_each_other():
    """Java's reader demands the flag, and the header's checksum; the LZ4 library checks the latter, too."""
    frame = compress(Codec.LZ4, SAMPLES["text"])
    assert frame[:7].hex() == "04224d18604082"
    changed = frame[:6] + b"\x83" + frame[7:]
    with pytest.raises(CorruptStreamError):
        decompress(Codec.LZ4, changed)
    size = int.from_bytes(frame[7:11], "little")
    block = bytes(cramjam.lz4.decompress_block(frame[11 : 11 + size], output_len=65536))
    assert block == SAMPLES["text"][:65536]


def test_snappy_is_framed_as_xerial_does():
    frame = compress(Codec.SNAPPY, SAMPLES["text"])
    assert frame[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    with pytest.raises(CorruptStreamError, match="a block of -1 bytes"):
        decompress(Codec.SNAPPY, frame[:16] + b"\xff" * 4)
    raw = bytes(cramjam.snappy.compress_raw(b"without any framing"))
    assert decompress(Codec.SNAPPY, raw) == b"without any framing"


def test_gzip_is_gzip():
    assert gzip.decompress(compress(Codec.GZIP, b"abc")) == b"abc"
