package org.covey.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;

/** The calls of Aalo (§6.1 of its paper), over a coordinator and blocks. Nobody says how large a flow is. */
public final class Aalo {
    private final Coordinator coordinator;
    private final Blocks blocks;

    /**
     * The calls for a driver, and for the tasks of this process.
     *
     * @param blocks what tasks put, and where they get from; null in a driver that only registers
     */
    public Aalo(Coordinator coordinator, Blocks blocks) {
        this.coordinator = coordinator;
        this.blocks = blocks;
    }

    /**
     * Registers a coflow, and gives its number.
     *
     * @param name the same name again gives the same coflow
     * @param parents coflows that it depends on; they come first where they contend
     * @param ends the sending and the receiving port of each flow; bytes are left out
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public long register(String name, List<Long> parents, List<Flow> ends) throws IOException {
        List<Flow> flows = ends.stream().map(flow -> new Flow(flow.src(), flow.dst(), null)).toList();
        return coordinator.register(new Coflow(name, parents, null, null, flows), name);
    }

    /** Offers a block of a coflow. */
    public void put(long coflow, byte[] block, byte[] data) {
        blocks.put(coflow, block, data);
    }

    /**
     * Gets a block of a coflow from the process that has put it.
     *
     * @param flow the index of the flow in the coflow
     * @param from the blocks of that process
     * @throws IOException as {@link Blocks#get}
     */
    public byte[] get(long coflow, int flow, InetSocketAddress from, byte[] block) throws IOException {
        return blocks.get(new FlowKey(coflow, flow), from, block);
    }

    /**
     * Gives a coflow up, and removes its blocks here.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public void unregister(long coflow) throws IOException {
        if (blocks != null) {
            blocks.remove(coflow);
        }
        coordinator.end(coflow);
    }
}
