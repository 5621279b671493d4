package org.covey.examples;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.covey.client.Blocks;
import org.covey.client.Coordinator;
import org.covey.client.Flow;
import org.covey.client.Flows;
import org.covey.client.Swallow;

/** A shuffle by the calls of Swallow: each map executor pushes a block to the reducer, which pulls them. */
public final class SwallowShuffle {
    private SwallowShuffle() {}

    /**
     * Runs it; gives the blocks that the reducer has pulled.
     *
     * @param hosts the flows of each host, by port; the last host reduces
     * @param outputs what the executor of each other host has for the reducer
     */
    public static List<byte[]> run(Coordinator coordinator, List<Flows> hosts, List<byte[]> outputs) throws Exception {
        int reducer = hosts.size() - 1;
        Swallow driver = new Swallow(coordinator, null);
        List<List<Flow>> hooked = new ArrayList<>();
        for (int map = 0; map < reducer; map++) {
            Flow flow = new Flow(map, reducer, (double) outputs.get(map).length);
            hooked.add(driver.hook(() -> List.of(flow)));
        }
        long coflow = driver.add(driver.aggregate(hooked), "a shuffle by Swallow");
        driver.alloc(driver.scheduling(Set.of(coflow)), 10_000);

        ExecutorService tasks = Executors.newCachedThreadPool();
        try (Blocks received = Blocks.listen(hosts.get(reducer), new InetSocketAddress("127.0.0.1", 0))) {
            List<Future<?>> pushes = new ArrayList<>();
            for (int k = 0; k < reducer; k++) {
                int map = k;
                pushes.add(tasks.submit(() -> push(coordinator, hosts.get(map), coflow, map, received, outputs.get(map))));
            }
            Swallow task = new Swallow(coordinator, received);
            List<byte[]> blocks = new ArrayList<>();
            for (int map = 0; map < reducer; map++) {
                blocks.add(task.pull(coflow, name(map)));
            }
            for (Future<?> push : pushes) {
                push.get();
            }
            return blocks;
        } finally {
            tasks.shutdownNow();
            driver.remove(coflow);
        }
    }

    private static Void push(
            Coordinator coordinator, Flows host, long coflow, int map, Blocks to, byte[] output) throws Exception {
        try (Blocks own = Blocks.listen(host, new InetSocketAddress("127.0.0.1", 0))) {
            new Swallow(coordinator, own).push(coflow, map, to.address(), name(map), output);
        }
        return null;
    }

    private static byte[] name(int map) {
        return new byte[] {'m', (byte) map};
    }
}
