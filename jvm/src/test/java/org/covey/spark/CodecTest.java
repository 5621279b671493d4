package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;

import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.LZ4CompressionCodec;
import org.apache.spark.io.ZStdCompressionCodec;
import org.junit.jupiter.api.Test;

/** What a stage is written with, and that it can be read. */
class CodecTest {
    private static final double GBPS = 1e9 / 8;
    private static final long LONG_MS = 600_000;

    private final List<String> seen = new ArrayList<>();
    private final SmartCodec codec = new SmartCodec(new SparkConf(false));
    private final SmartCodec.Chooser chooser = new SmartCodec.Chooser() {
        @Override
        public Compressor of(int stage) {
            throw new AssertionError("streams are told");
        }

        @Override
        public void seen(Compressor compressor, long raw, long compressed) {
            seen.add(compressor.text() + " " + raw);
            assertTrue(compressed > 0 && compressed < raw, raw + " to " + compressed);
        }
    };

    private static byte[] text(int bytes) {
        StringBuilder text = new StringBuilder();
        for (int k = 0; text.length() < bytes; k++) {
            text.append("order ").append(k).append(" of ").append(k % 100).append('\n');
        }
        return text.substring(0, bytes).getBytes(StandardCharsets.US_ASCII);
    }

    private byte[] written(Compressor compressor, byte[] data) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (OutputStream stream = codec.stream(out, compressor, chooser)) {
            stream.write(data[0]);
            stream.write(data, 1, data.length - 1);
        }
        return out.toByteArray();
    }

    private static byte[] read(CompressionCodec codec, byte[] data) throws IOException {
        return codec.compressedInputStream(new ByteArrayInputStream(data)).readAllBytes();
    }

    @Test
    void whatAnyStageHasWrittenIsReadByTheFirstBytes() throws Exception {
        byte[] data = text(100_000);
        SparkConf conf = new SparkConf(false);
        assertArrayEquals(data, read(codec, written(Compressor.ZSTD, data)));
        assertArrayEquals(data, read(codec, written(Compressor.LZ4, data)));
        assertArrayEquals(data, read(codec, written(Compressor.NONE, data)));
        // Spark's own codecs read it, too.
        assertArrayEquals(data, read(new ZStdCompressionCodec(conf), written(Compressor.ZSTD, data)));
        assertArrayEquals(data, read(new LZ4CompressionCodec(conf), written(Compressor.NONE, data)));
        // Parts of one map are read as one where tasks read several partitions.
        byte[] part = written(Compressor.ZSTD, text(5_000));
        ByteArrayOutputStream two = new ByteArrayOutputStream();
        two.write(part);
        two.write(part);
        assertEquals(10_000, read(codec, two.toByteArray()).length);
        assertEquals(0, read(codec, new byte[0]).length);
    }

    @Test
    void ratiosAreSeenAlsoWhereBlocksAreStored() throws Exception {
        byte[] data = text(100_000);
        assertTrue(written(Compressor.ZSTD, data).length < written(Compressor.LZ4, data).length);
        // Of four blocks the first is compressed.
        int stored = written(Compressor.NONE, data).length;
        assertTrue(stored > 67_000 && stored < 100_000, stored + " bytes");
        written(Compressor.ZSTD, text(100));
        assertEquals(List.of("zstd 100000", "lz4 100000", "lz4 32768"), seen);
    }

    @Test
    void whatDoesNotBecomeSmallerIsStored() throws Exception {
        byte[] noise = new byte[40_000];
        new Random(1).nextBytes(noise);
        assertArrayEquals(noise, read(codec, codecWithoutChecks(noise)));
    }

    private byte[] codecWithoutChecks(byte[] data) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        SmartCodec.Chooser any = new SmartCodec.Chooser() {
            @Override
            public Compressor of(int stage) {
                return Compressor.NONE;
            }

            @Override
            public void seen(Compressor compressor, long raw, long compressed) {}
        };
        try (OutputStream stream = codec.stream(out, Compressor.NONE, any)) {
            stream.write(data);
        }
        return out.toByteArray();
    }

    @Test
    void aSlowLinkChoosesZstdAndASlowProcessorNothing() {
        // Seconds for a gigabyte, none, lz4, zstd, over 0.1 Gbps with 2 cores: 80, 49.7 + 0.6, 27.8 + 1.5.
        assertEquals(Compressor.ZSTD, Compressor.fastest(0.1 * GBPS, 2, 1));
        // Over 10 Gbps with one core: 0.8, 0.50 + 1.27, 0.28 + 3.03.
        assertEquals(Compressor.NONE, Compressor.fastest(10 * GBPS, 1, 1));
        // Over 3 Gbps with one: 2.67, 1.66 + 1.27, 0.93 + 3.03. With two: 2.67, 1.66 + 0.64, 0.93 + 1.52.
        assertEquals(Compressor.NONE, Compressor.fastest(3 * GBPS, 1, 1));
        assertEquals(Compressor.LZ4, Compressor.fastest(3 * GBPS, 2, 1));
        // What hardly becomes smaller is not compressed: the ratios are 1 and 0.97.
        assertEquals(Compressor.NONE, Compressor.fastest(GBPS, 1, 2.8));
    }

    /**
     * Swallow's Eq. 3: of two, the compressor is chosen exactly if it removes bytes faster than the link sends them.
     */
    @Test
    void oneCompressorIsChosenByTheCriterionOfSwallow() {
        for (double bandwidth = 1e6; bandwidth < 1e10; bandwidth *= 1.3) {
            for (double cores = 0.1; cores < 100; cores *= 1.7) {
                boolean pays = cores * 785e6 * (1 - 0.6215) > bandwidth || cores * 330e6 * (1 - 0.3477) > bandwidth;
                assertEquals(pays, Compressor.fastest(bandwidth, cores, 1) != Compressor.NONE, bandwidth + ", " + cores);
            }
        }
    }

    @Test
    void whatOthersTakeAndWhatWasSeenCount() {
        StageChoices choices = new StageChoices();
        try (Said said = new Said()) {
            assertEquals(Compressor.LZ4, choices.choose(new StageCodecs.Asks(1, "a", 1)));
            choices.choose(new StageCodecs.Asks(2, "a", 1));
            assertEquals(1, said.lines().size());
        }
        choices.portRate(10 * GBPS);
        choices.executor("0", "a", 1);
        assertEquals(Compressor.NONE, choices.choose(new StageCodecs.Asks(3, "a", 8)));
        choices.executor("1", "a", 7);
        assertEquals(Compressor.LZ4, choices.choose(new StageCodecs.Asks(4, "a", 8)));
        choices.taken(Map.of("a", 9.5 * GBPS));
        assertEquals(Compressor.ZSTD, choices.choose(new StageCodecs.Asks(5, "a", 8)));
        // A stage keeps what was chosen for it.
        assertEquals(Compressor.NONE, choices.choose(new StageCodecs.Asks(3, "b", 8)));
        choices.seen(new StageCodecs.Seen(Compressor.ZSTD, 1000, 990));
        assertEquals(Compressor.NONE, choices.choose(new StageCodecs.Asks(6, "a", 8)));
        // What was written lately counts more.
        choices.seen(new StageCodecs.Seen(Compressor.ZSTD, 4_000_000_000L, 1_300_000_000L));
        assertEquals(Compressor.ZSTD, choices.choose(new StageCodecs.Asks(7, "a", 8)));
        assertEquals("{1=LZ4, 2=LZ4, 3=NONE, 4=LZ4, 5=ZSTD, 6=NONE, 7=ZSTD}", choices.chosen().toString());
        assertEquals("[a]", choices.hosts().toString());
        choices.gone("0");
        choices.gone("1");
        assertEquals("[]", choices.hosts().toString());
    }

    @Test
    void anExecutorAsksOnceForAStage() {
        List<StageCodecs.Asks> asked = new ArrayList<>();
        StageCodecs codecs = new StageCodecs("a", () -> 1.5, asks -> {
            asked.add(StageCodecs.Asks.of(asks.text()));
            return Compressor.ZSTD;
        }, LONG_MS, new Guard());
        codecs.begin(3);
        assertEquals(Compressor.ZSTD, codecs.of(3));
        assertEquals(Compressor.ZSTD, codecs.of(3));
        codecs.close();
        assertEquals(List.of(new StageCodecs.Asks(3, "a", 1.5)), asked);
        codecs.seen(Compressor.LZ4, 10, 5);
        codecs.seen(Compressor.LZ4, 20, 6);
        StageCodecs.Seen both = new StageCodecs.Seen(Compressor.LZ4, 30, 11);
        assertEquals(List.of(both), codecs.take());
        assertEquals(List.of(), codecs.take());
        assertEquals(both, StageCodecs.Seen.of(both.text()));
        assertFalse(StageCodecs.Asks.is(both.text()));
    }

    @Test
    void aLateAnswerAndAFaultAreLz4AndStaySo() {
        CountDownLatch late = new CountDownLatch(1);
        StageCodecs codecs = new StageCodecs("a", () -> 1, asks -> {
            late.await();
            return Compressor.ZSTD;
        }, 1, new Guard());
        try (Said said = new Said()) {
            assertEquals(Compressor.LZ4, codecs.of(3));
            assertEquals(1, said.lines().size(), said.lines()::toString);
        }
        late.countDown();
        assertEquals(Compressor.LZ4, codecs.of(3));
        codecs.close();
        Guard guard = new Guard();
        StageCodecs faulty = new StageCodecs("a", () -> 1, asks -> {
            throw new NoSuchMethodError("a fault for a test");
        }, LONG_MS, guard);
        assertEquals(Compressor.LZ4, faulty.of(3));
        assertEquals(Compressor.LZ4, faulty.of(4));
        assertTrue(guard.hasFailed());
        faulty.close();
    }

    @Test
    void aCodecThatTheUserHasSetStays() {
        SparkConf conf = new SparkConf(false);
        assertNull(Settings.codec(conf));
        conf.set("spark.covey.codec", "smart");
        assertEquals(SmartCodec.class.getName(), Settings.codec(conf));
        conf.set("spark.covey.mode", "off");
        assertNull(Settings.codec(conf));
        conf.remove("spark.covey.mode");
        conf.set("spark.io.compression.codec", "lz4");
        try (Said said = new Said()) {
            assertNull(Settings.codec(conf));
            assertEquals(1, said.lines().size());
        }
    }
}
