package org.covey.client;

import com.fasterxml.jackson.annotation.JsonInclude;

/**
 * A flow as it is registered.
 *
 * @param src the sending port
 * @param dst the receiving port
 * @param bytes its size in bytes; null if it is not known
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Flow(int src, int dst, Double bytes) {}
