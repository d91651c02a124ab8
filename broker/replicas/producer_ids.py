"""Producer ids, handed out of blocks that this broker claims in ``/latest_producer_id_block``.

Source: ``ProducerIdManager.scala`` of release 2.8.
"""
