package org.covey.client;

/**
 * A flow, by its coflow and its index there.
 *
 * @param coflow the number that the coflow got when it was registered
 * @param flow its index in the coflow, from 0
 */
public record FlowKey(long coflow, int flow) {}
