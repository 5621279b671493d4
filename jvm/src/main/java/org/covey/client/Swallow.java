package org.covey.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import com.fasterxml.jackson.databind.JsonNode;

/** The calls of Swallow (Table IV of its paper), over a coordinator and blocks. */
public final class Swallow {
    private static final long POLL_MS = 10;

    private final Coordinator coordinator;
    private final Blocks blocks;

    /** What an executor knows of the flows that it is about to send. */
    @FunctionalInterface
    public interface Executor {
        /** Its flows. */
        List<Flow> flows();
    }

    /**
     * A flow as it is scheduled.
     *
     * @param coflow its coflow
     * @param flow its index there
     * @param src the sending port
     * @param dst the receiving port
     * @param rate bytes per second
     */
    public record Scheduled(long coflow, int flow, int src, int dst, double rate) {}

    /**
     * The calls for a driver, and for the tasks of this process.
     *
     * @param blocks where tasks push to and pull from; null in a driver that only registers
     */
    public Swallow(Coordinator coordinator, Blocks blocks) {
        this.coordinator = coordinator;
        this.blocks = blocks;
    }

    /** The flows that an executor is about to send. */
    public List<Flow> hook(Executor executor) {
        return List.copyOf(executor.flows());
    }

    /** The coflow of such flows. A flow's index is its place, executor by executor. */
    public Coflow aggregate(List<List<Flow>> flows) {
        return new Coflow(null, List.of(), null, null, flows.stream().flatMap(List::stream).toList());
    }

    /**
     * Adds a coflow, and gives its number.
     *
     * @param name the same name again gives the same coflow
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public long add(Coflow coflow, String name) throws IOException {
        return coordinator.register(
                new Coflow(name, coflow.parents(), coflow.open(), coflow.leaseS(), coflow.flows()), name);
    }

    /**
     * Removes a coflow, whether it has completed or not.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public void remove(long coflow) throws IOException {
        coordinator.end(coflow);
    }

    /**
     * How these coflows are scheduled now: the flows that have a rate, in the order of their numbers. Others wait. The
     * coordinator decides by itself, at each event.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public List<Scheduled> scheduling(Set<Long> coflows) throws IOException {
        List<Scheduled> scheduled = new ArrayList<>();
        for (JsonNode flow : coordinator.list("/v1/schedule")) {
            if (coflows.contains(flow.path("coflow").longValue())) {
                scheduled.add(new Scheduled(
                        flow.path("coflow").longValue(), flow.path("flow").intValue(),
                        flow.path("src").intValue(), flow.path("dst").intValue(), flow.path("rate").doubleValue()));
            }
        }
        return scheduled;
    }

    /**
     * Waits until the agents of the senders carry the schedule out. The coordinator sends it to them by itself.
     *
     * @throws IOException if the coordinator does not answer
     * @throws TimeoutException if an agent takes longer
     */
    public void alloc(List<Scheduled> schedule, long timeoutMs)
            throws IOException, InterruptedException, TimeoutException {
        Set<Integer> senders = new HashSet<>();
        schedule.forEach(flow -> senders.add(flow.src));
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        while (true) {
            Set<Integer> late = new HashSet<>();
            for (JsonNode agent : coordinator.list("/v1/agents")) {
                boolean isCurrent = agent.path("state").asText().equals("joined")
                        && agent.path("applied").longValue() == agent.path("version").longValue();
                if (!isCurrent && senders.contains(agent.path("port").intValue())) {
                    late.add(agent.path("port").intValue());
                }
            }
            if (late.isEmpty()) {
                return;
            }
            if (System.nanoTime() - end > 0) {
                throw new TimeoutException("agents that do not carry the schedule out: those of ports " + late);
            }
            Thread.sleep(POLL_MS);
        }
    }

    /**
     * Sends a block of a coflow. Returns when the receiver has pulled it.
     *
     * @param flow the index of the flow in the coflow
     * @param to the receiver's blocks
     * @throws IOException as {@link Blocks#push}
     */
    public void push(long coflow, int flow, InetSocketAddress to, byte[] block, byte[] data) throws IOException {
        blocks.push(new FlowKey(coflow, flow), to, block, data);
    }

    /**
     * Receives a block of a coflow that is pushed here.
     *
     * @throws IOException as {@link Blocks#pull}
     */
    public byte[] pull(long coflow, byte[] block) throws IOException {
        return blocks.pull(coflow, block);
    }
}
