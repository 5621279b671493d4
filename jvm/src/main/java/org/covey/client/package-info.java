/**
 * A client of Covey for the JVM: coflows at the coordinator's REST interface ({@link org.covey.client.Coordinator}),
 * the messages of the agent of this host ({@link org.covey.client.Agent}), flows that keep to its schedule
 * ({@link org.covey.client.Flows}, {@link org.covey.client.Blocks}), and the calls of {@link org.covey.client.Swallow}
 * and {@link org.covey.client.Aalo}.
 */
package org.covey.client;
