from barnabas.bench.cases.timing_wheel import Heap, compare


def test_all_contenders_do_the_same_work():
    found = compare(pending=50, operations=300)
    assert set(found) == {
        "wheel",
        "heapq",
        "wheel on uvloop",
        "call_later of uvloop",
        "call_later of asyncio",
    }
    assert all(cost > 0 for cost in found.values())


def test_the_heap_is_cleaned_as_asyncio_cleans_its_own():
    heap = Heap()
    waiting = [heap.insert(1000 + number) for number in range(300)]
    for entry in waiting[:150]:
        heap.cancel(entry)
    assert len(heap._heap) == 300
    heap.cancel(waiting[150])
    assert len(heap._heap) == 149
