package org.covey.spark;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;

import org.covey.client.Coflow;
import org.covey.client.Coordinator;
import org.covey.client.Flow;
import org.covey.client.RefusedException;
import org.covey.client.Update;

/** Where coflows are registered. */
interface Registry {
    /** Registers a coflow, and gives its number. */
    long register(Coflow coflow) throws IOException;

    /** Adds flows to a coflow. */
    void add(long coflow, List<Flow> flows) throws IOException;

    /** Ends flows of a coflow, by their indices. */
    void cancel(long coflow, List<Integer> flows) throws IOException;

    /** Ends a coflow. */
    void end(long coflow) throws IOException;

    /** The name of a coflow. */
    String name(long coflow) throws IOException;

    /** What is in force now. */
    Schedule schedule() throws IOException;

    /**
     * A schedule.
     *
     * @param served the rate of each flow that has one, in bytes per second
     * @param agents the ports with an agent: flows from and to others have no rate at all
     */
    record Schedule(Map<Served, Double> served, Set<Integer> agents) {
        /** Whether the coordinator has a flow wait. */
        boolean holds(Served flow) {
            return !served.containsKey(flow) && agents.contains(flow.src) && agents.contains(flow.dst);
        }
    }

    /**
     * Flows of a coflow from a port to another.
     *
     * @param coflow its coflow
     * @param src the sending port
     * @param dst the receiving port
     */
    record Served(long coflow, int src, int dst) {}

    /** The speed of each port, in bytes per second. */
    double portRate() throws IOException;

    /** The registry of a coordinator. */
    static Registry of(Coordinator coordinator) {
        return new Registry() {
            @Override
            public long register(Coflow coflow) throws IOException {
                return coordinator.register(coflow, coflow.name());
            }

            @Override
            public void add(long coflow, List<Flow> flows) throws IOException {
                coordinator.update(coflow, Update.add(flows));
            }

            @Override
            public void cancel(long coflow, List<Integer> flows) throws IOException {
                coordinator.update(coflow, new Update(List.of(), List.of(), flows, null));
            }

            @Override
            public void end(long coflow) throws IOException {
                coordinator.end(coflow);
            }

            @Override
            public String name(long coflow) throws IOException {
                String number = "coflow " + Long.toUnsignedString(coflow);
                try {
                    String path = "/v1/coflows/" + Long.toUnsignedString(coflow);
                    return coordinator.get(path).path("name").asText(number);
                } catch (RefusedException error) {
                    // It has gone.
                    return number;
                }
            }

            @Override
            public double portRate() throws IOException {
                return coordinator.portRate();
            }

            @Override
            public Schedule schedule() throws IOException {
                Map<Served, Double> served = new HashMap<>();
                for (JsonNode flow : coordinator.list("/v1/schedule")) {
                    double rate = flow.path("rate").doubleValue();
                    if (rate > 0) {
                        Served key = new Served(
                                flow.path("coflow").longValue(),
                                flow.path("src").intValue(),
                                flow.path("dst").intValue());
                        served.merge(key, rate, Double::sum);
                    }
                }
                Set<Integer> agents = new HashSet<>();
                for (JsonNode agent : coordinator.list("/v1/agents")) {
                    if (agent.path("state").asText().equals("joined")) {
                        agents.add(agent.path("port").intValue());
                    }
                }
                return new Schedule(served, agents);
            }
        };
    }
}
