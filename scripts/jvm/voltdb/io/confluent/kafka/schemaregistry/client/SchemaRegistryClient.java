package io.confluent.kafka.schemaregistry.client;

/** VoltDB names this class of a library that is in no public repository, and does not use it here. */
public interface SchemaRegistryClient {}
