package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.junit.jupiter.api.Test;

/** The bytes of blocks are counted where they come, and added up at the driver. */
class TrafficTest {
    private static final Transfers.Key A = new Transfers.Key(3, 0, 5, "1", "2");
    private static final Transfers.Key B = new Transfers.Key(3, 0, 5, "2", "1");
    private static final Transfers.Key LATER = new Transfers.Key(4, 1, 6, "2", "1");

    /** Gives each block as many bytes as its name is long, but for those that fail. */
    private static final class Fake extends BlockStoreClient {
        @Override
        public void fetchBlocks(
                String host, int port, String executor, String[] blocks, BlockFetchingListener listener,
                DownloadFileManager files) {
            for (String block : blocks) {
                if (block.endsWith("fails")) {
                    listener.onBlockTransferFailure(block, new AssertionError("a fault for a test"));
                } else {
                    // Both names of the call are in use.
                    listener.onBlockTransferSuccess(block, new NioManagedBuffer(ByteBuffer.allocate(block.length())));
                    listener.onBlockFetchSuccess(block, new NioManagedBuffer(ByteBuffer.allocate(block.length())));
                }
            }
        }

        @Override
        public void close() {}
    }

    private static final class Heard implements BlockFetchingListener {
        final List<String> heard = new ArrayList<>();

        @Override
        public void onBlockFetchSuccess(String block, ManagedBuffer data) {
            heard.add(block + " " + data.size());
        }

        @Override
        public void onBlockFetchFailure(String block, Throwable error) {
            heard.add(block + " " + error.getMessage());
        }
    }

    private static List<String> fetch(Transfers received, Guard guard, String... blocks) {
        Heard heard = new Heard();
        new CountingClient(new Fake(), "2", received, guard).fetchBlocks("a", 1, "1", blocks, heard, null);
        return heard.heard;
    }

    @Test
    void blocksOfShufflesAreCountedAndPassedOn() {
        Transfers received = new Transfers();
        List<String> heard = fetch(received, new Guard(), "shuffle_5_1_2", "shuffle_5_fails");
        assertEquals(
                List.of("shuffle_5_1_2 13", "shuffle_5_1_2 13", "shuffle_5_fails a fault for a test"), heard);
        fetch(received, new Guard(), "shuffle_5_1_3", "shuffle_5_1_10_12");
        fetch(received, new Guard(), "shuffleChunk_6_0_1_2");
        assertEquals(2, fetch(received, new Guard(), "broadcast_1_piece0").size());
        assertEquals(2, fetch(received, new Guard(), "shuffle_what").size());
        assertEquals(Map.of(
                new Transfers.Key(-1, -1, 5, "1", "2"), 2L * (13 + 13 + 17),
                new Transfers.Key(-1, -1, 6, "1", "2"), 2L * 20), received.take());
        assertEquals(Map.of(), received.take());
    }

    @Test
    void aFaultInTheCountIsNoFaultOfAFetch() {
        Guard guard = new Guard() {
            @Override
            protected void before(String callback) {
                if (callback.equals("onBlockFetchSuccess")) {
                    throw new NoSuchMethodError("a fault for a test");
                }
            }
        };
        assertEquals(List.of("shuffle_5_1_2 13", "shuffle_5_1_2 13"), fetch(new Transfers(), guard, "shuffle_5_1_2"));
        assertTrue(guard.hasFailed());
        assertEquals(2, fetch(new Transfers(), guard, "shuffle_5_1_2").size());
    }

    @Test
    void everyMethodOfThisSparksListenersIsPassedOn() {
        assertNull(CountingClient.unknownMethod());
    }

    @Test
    void whatAnExecutorSaysIsRead() {
        Map<Transfers.Key, Long> bytes = Map.of(A, 7L, LATER, 1L << 40);
        assertTrue(Transfers.is(Transfers.text(bytes)));
        assertEquals(bytes, Transfers.of(Transfers.text(bytes)));
        assertFalse(Transfers.is(new Gate.Asks("1", "a", 0).text()));
    }

    @Test
    void whatAnExecutorHoldsGoesWithIt() {
        Driver driver = new Driver(new Guard());
        assertEquals(List.of(), driver.receive(new Gate.Asks("1", "a", 3).text()));
        driver.receive(new Gate.Asks("2", "b", 1).text());
        assertEquals(4, driver.held());
        List<String> gone = new ArrayList<>();
        Reads reads = new Reads(new Traffic(1), new StageChoices(), gone::add, new Guard());
        reads.onExecutorRemoved(new SparkListenerExecutorRemoved(0, "1", "killed"));
        assertEquals(List.of("1"), gone);
        driver.gone("1");
        assertEquals(1, driver.held());
    }

    @Test
    void theReportHasWhatWasReceivedAndRead() throws Exception {
        Traffic traffic = new Traffic(100);
        traffic.executor("1", "a");
        traffic.receive(Map.of(A, 7L));
        traffic.receive(Map.of(A, 3L, B, 1L));
        traffic.read(3, 0, 11);
        traffic.read(4, 1, 5);
        traffic.awaitAll(1);
        traffic.receive(Map.of(LATER, 5L));
        traffic.end();
        // Far from 5 minutes.
        traffic.awaitAll(300_000);
        assertEquals(16, traffic.total());
        JsonNode report = new ObjectMapper().readTree(Report.of("app", traffic, new StageChoices(), List.of(), List.of()).json());
        assertEquals("{\"1\":\"a\"}", report.path("executors").toString());
        assertEquals("[{\"stage\":3,\"attempt\":0,\"received\":11,\"read\":11},"
                + "{\"stage\":4,\"attempt\":1,\"received\":5,\"read\":5}]", report.path("stages").toString());
        assertEquals(3, report.path("pairs").size());
        assertEquals("{\"stage\":3,\"attempt\":0,\"shuffle\":5,\"from\":\"1\",\"to\":\"2\",\"bytes\":10}",
                report.path("pairs").get(0).toString());
    }

    @Test
    void whatExceedsTheMostPairsIsForgottenAndSaid() {
        Traffic traffic = new Traffic(2);
        try (Said said = new Said()) {
            traffic.receive(Map.of(A, 7L, B, 1L));
            assertEquals(0, traffic.forgotten());
            traffic.receive(Map.of(LATER, 5L));
            assertEquals(1, traffic.forgotten());
            assertEquals(1, said.lines().size());
        }
        assertEquals(Map.of(LATER, 5L), traffic.pairs());
        assertEquals(13, traffic.total());
    }
}
