package org.covey.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

import com.fasterxml.jackson.databind.JsonNode;
import org.covey.Covey;
import org.covey.examples.AaloBroadcast;
import org.covey.examples.SwallowShuffle;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Blocks move as flows that a real coordinator and real agents schedule. */
class BlocksTest {
    private static final int PORTS = 3;

    @TempDir
    Path folder;

    private static byte[] bytes(int count) {
        byte[] some = new byte[count];
        new Random(1).nextBytes(some);
        return some;
    }

    /** What is done with a coordinator, and the flows of each port. */
    private interface Use {
        void run(Coordinator coordinator, List<Flows> hosts) throws Exception;
    }

    private void live(String policy, List<String> options, Use use) throws Exception {
        Covey.needed();
        List<Flows> hosts = new ArrayList<>();
        try (Covey.Server server = new Covey.Server(folder, PORTS, policy, options)) {
            AutoCloseable agents = server.agents("pacing");
            try {
                for (int port = 0; port < PORTS; port++) {
                    hosts.add(Flows.join(server.socket(port)));
                }
                use.run(server.client(), hosts);
            } finally {
                for (Flows host : hosts) {
                    host.close();
                }
                agents.close();
            }
        }
    }

    private static JsonNode onlyCoflow(Coordinator coordinator) throws IOException {
        JsonNode coflows = coordinator.get("/v1/coflows?state=all").path("items");
        assertEquals(1, coflows.size(), coflows::toString);
        return coflows.get(0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"on", "off"})
    void aShuffleBySwallow(String tokens) throws Exception {
        live("sebf", List.of("--port-rate", "80mbps", "--flow-tokens", tokens), (coordinator, hosts) -> {
            List<byte[]> outputs = List.of(bytes(2_000_000), bytes(1_000_000));
            long begin = System.nanoTime();
            List<byte[]> pulled = SwallowShuffle.run(coordinator, hosts, outputs);
            double seconds = (System.nanoTime() - begin) / 1e9;
            for (int map = 0; map < outputs.size(); map++) {
                assertArrayEquals(outputs.get(map), pulled.get(map));
            }
            // The reducer's port carries 10 MB a second.
            assertTrue(seconds > 0.25, "the rates were not kept: " + seconds + " s");
            // The coflow is removed as soon as all is there, and the last reports of agents may come after that.
            JsonNode coflow = onlyCoflow(coordinator);
            boolean isWhole = coflow.path("state").asText().equals("ended");
            double sent = coflow.path("bytes_sent").asDouble();
            assertTrue(isWhole ? sent == 3e6 : sent > 0 && sent <= 3e6, coflow::toString);
        });
    }

    @Test
    void aBroadcastByAalo() throws Exception {
        live("aalo", List.of(), (coordinator, hosts) -> {
            byte[] block = bytes(500_000);
            List<byte[]> got = AaloBroadcast.run(coordinator, hosts, block);
            assertEquals(2, got.size());
            got.forEach(it -> assertArrayEquals(block, it));
            JsonNode coflow = onlyCoflow(coordinator);
            assertEquals(2, coflow.path("flows").asInt(), coflow::toString);
        });
    }

    @Test
    void aFlowThatIsOpenedWronglyIsAnError() throws Exception {
        live("fair", List.of(), (coordinator, hosts) -> {
            long coflow = coordinator.register(
                    new Coflow("wrong", List.of(), null, null, List.of(new Flow(1, 2, 5.0))), "wrong");
            try (Blocks blocks = Blocks.listen(hosts.get(0), new InetSocketAddress("127.0.0.1", 0))) {
                IOException error = assertThrows(IOException.class, () -> blocks.push(
                        new FlowKey(coflow, 0), blocks.address(), new byte[0], bytes(5)));
                assertTrue(error.getMessage().contains("verdict 4, 1"), error.getMessage());
            }
        });
    }

    @Test
    void withoutAnAgentBlocksMoveAtOnce() throws Exception {
        try (Flows flows = Flows.unscheduled();
                Blocks blocks = Blocks.listen(flows, new InetSocketAddress("127.0.0.1", 0))) {
            blocks.put(7, new byte[] {1}, bytes(200_000));
            assertArrayEquals(bytes(200_000), blocks.get(new FlowKey(7, 0), blocks.address(), new byte[] {1}));
            assertArrayEquals(bytes(200_000), blocks.get(new FlowKey(7, 1), blocks.address(), new byte[] {1}));
        }
    }

    @Test
    void headersAreReadAsTheyAreWritten() throws Exception {
        for (ByteBuffer proof : new ByteBuffer[] {null, ByteBuffer.wrap(bytes(33))}) {
            FlowHeader header = new FlowHeader(Direction.PUSHED, new FlowKey(5, 6), 1000, new byte[] {9}, proof);
            byte[] encoded = header.encode();
            assertEquals(28 + 1 + (proof == null ? 0 : 33), encoded.length);
            FlowHeader read = FlowHeader.read(new DataInputStream(new ByteArrayInputStream(encoded)));
            assertArrayEquals(encoded, read.encode());
            for (int length = 0; length < encoded.length; length++) {
                byte[] part = Arrays.copyOf(encoded, length);
                assertThrows(IOException.class, () -> FlowHeader.read(new DataInputStream(new ByteArrayInputStream(part))));
            }
        }
        assertThrows(ProtocolException.class, () -> FlowHeader.refuseRefusal(FlowHeader.refusal(5)));
        FlowHeader.refuseRefusal(new byte[8]);
    }
}
