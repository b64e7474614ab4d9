"""Client of NATS JetStream for the channel `nats`."""
