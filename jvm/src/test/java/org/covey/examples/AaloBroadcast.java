package org.covey.examples;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.covey.client.Aalo;
import org.covey.client.Blocks;
import org.covey.client.Coordinator;
import org.covey.client.Flow;
import org.covey.client.Flows;

/** A broadcast by the calls of Aalo: one host puts a block, and all others get it. */
public final class AaloBroadcast {
    private AaloBroadcast() {}

    /**
     * Runs it; gives what each of the other hosts has got.
     *
     * @param hosts the flows of each host, by port; the first host has the block
     */
    public static List<byte[]> run(Coordinator coordinator, List<Flows> hosts, byte[] block) throws Exception {
        Aalo driver = new Aalo(coordinator, null);
        List<Flow> ends = new ArrayList<>();
        for (int port = 1; port < hosts.size(); port++) {
            ends.add(new Flow(0, port, null));
        }
        long coflow = driver.register("a broadcast by Aalo", List.of(), ends);

        ExecutorService tasks = Executors.newCachedThreadPool();
        try (Blocks source = Blocks.listen(hosts.get(0), new InetSocketAddress("127.0.0.1", 0))) {
            List<Future<byte[]>> gets = new ArrayList<>();
            for (int k = 1; k < hosts.size(); k++) {
                int port = k;
                gets.add(tasks.submit(() -> get(coordinator, hosts.get(port), coflow, port - 1, source)));
            }
            Aalo task = new Aalo(coordinator, source);
            task.put(coflow, new byte[] {'b'}, block);
            List<byte[]> blocks = new ArrayList<>();
            for (Future<byte[]> get : gets) {
                blocks.add(get.get());
            }
            task.unregister(coflow);
            return blocks;
        } finally {
            tasks.shutdownNow();
        }
    }

    private static byte[] get(Coordinator coordinator, Flows host, long coflow, int flow, Blocks from)
            throws Exception {
        try (Blocks own = Blocks.listen(host, new InetSocketAddress("127.0.0.1", 0))) {
            return new Aalo(coordinator, own).get(coflow, flow, from.address(), new byte[] {'b'});
        }
    }
}
