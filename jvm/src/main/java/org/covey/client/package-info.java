/**
 * A client of Covey for the JVM: coflows at the coordinator's REST interface ({@link org.covey.client.Coordinator}), and
 * the flows of an application at the agent of its host ({@link org.covey.client.Agent}).
 */
package org.covey.client;
