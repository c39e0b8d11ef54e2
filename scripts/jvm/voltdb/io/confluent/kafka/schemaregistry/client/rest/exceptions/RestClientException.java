package io.confluent.kafka.schemaregistry.client.rest.exceptions;

/** As SchemaRegistryClient. */
public class RestClientException extends Exception {}
