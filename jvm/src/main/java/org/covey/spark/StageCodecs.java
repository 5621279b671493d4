package org.covey.spark;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.DoubleSupplier;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What an executor writes each stage with: it asks the driver when the stage's first task begins. */
final class StageCodecs implements SmartCodec.Chooser {
    private static final Logger LOG = LoggerFactory.getLogger("covey");
    private static final int MAX_STAGES = 10_000;
    private static final String ASKS = "codec";
    private static final String SEEN = "ratio";

    /**
     * What an executor asks.
     *
     * @param stage the stage
     * @param host the executor's host
     * @param cores the host's cores that others do not use
     */
    record Asks(int stage, String host, double cores) {
        String text() {
            return ASKS + " " + stage + " " + host + " " + cores;
        }

        static boolean is(String text) {
            return text.startsWith(ASKS + " ");
        }

        static Asks of(String text) {
            String[] parts = text.split(" ");
            return new Asks(Integer.parseInt(parts[1]), parts[2], Double.parseDouble(parts[3]));
        }
    }

    /**
     * What a compressor has made of some bytes.
     *
     * @param raw bytes
     * @param compressed what they have become
     */
    record Seen(Compressor compressor, long raw, long compressed) {
        String text() {
            return SEEN + " " + compressor.text() + " " + raw + " " + compressed;
        }

        static boolean is(String text) {
            return text.startsWith(SEEN + " ");
        }

        static Seen of(String text) {
            String[] parts = text.split(" ");
            return new Seen(Compressor.of(parts[1]), Long.parseLong(parts[2]), Long.parseLong(parts[3]));
        }

        private Seen and(Seen more) {
            return new Seen(compressor, raw + more.raw, compressed + more.compressed);
        }
    }

    /** Whom an executor asks. */
    @FunctionalInterface
    interface Driver {
        /** What a stage is to be written with. */
        Compressor ask(Asks asks) throws Exception;
    }

    private final String host;
    private final DoubleSupplier cores;
    private final Driver driver;
    private final long answerMs;
    private final Guard guard;
    private final ExecutorService thread = Executors.newSingleThreadExecutor(StageCodecs::daemon);
    private final Map<Integer, CompletableFuture<Compressor>> stages = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, CompletableFuture<Compressor>> eldest) {
            // Stages in use are never the eldest: a task must not change its codec.
            return size() > MAX_STAGES;
        }
    };
    private final Map<Compressor, Seen> seen = new EnumMap<>(Compressor.class);
    private boolean hasSaidThatAnswersAreLate;

    /**
     * Nothing is known of any stage.
     *
     * @param host the executor's host
     * @param cores the host's cores that others do not use
     * @param answerMs a task waits so many milliseconds for the answer at most
     */
    StageCodecs(String host, DoubleSupplier cores, Driver driver, long answerMs, Guard guard) {
        this.host = host;
        this.cores = cores;
        this.driver = driver;
        this.answerMs = answerMs;
        this.guard = guard;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "covey codec");
        thread.setDaemon(true);
        return thread;
    }

    /** A task of a stage begins: what it writes with is asked in the background. */
    CompletableFuture<Compressor> begin(int stage) {
        synchronized (stages) {
            return stages.computeIfAbsent(stage, id -> {
                CompletableFuture<Compressor> answer = new CompletableFuture<>();
                thread.execute(() -> {
                    guard.run("the question for a codec",
                            () -> answer.complete(driver.ask(new Asks(stage, host, cores.getAsDouble()))));
                    answer.complete(Compressor.LZ4);
                });
                return answer;
            });
        }
    }

    /** What a stage is written with: lz4 if the answer is late. */
    @Override
    public Compressor of(int stage) {
        CompletableFuture<Compressor> answer = begin(stage);
        try {
            return answer.get(answerMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException error) {
            if (answer.complete(Compressor.LZ4)) {
                sayThatItIsLate(stage);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            answer.complete(Compressor.LZ4);
        } catch (ExecutionException error) {
            throw new IllegalStateException(error);
        }
        return answer.join();
    }

    private synchronized void sayThatItIsLate(int stage) {
        if (!hasSaidThatAnswersAreLate) {
            hasSaidThatAnswersAreLate = true;
            LOG.warn("covey: the driver has not said in {} ms what stage {} is written with: it is lz4", answerMs, stage);
        }
    }

    @Override
    public synchronized void seen(Compressor compressor, long raw, long compressed) {
        seen.merge(compressor, new Seen(compressor, raw, compressed), Seen::and);
    }

    /** What was seen since the last time. */
    synchronized List<Seen> take() {
        List<Seen> taken = List.copyOf(seen.values());
        seen.clear();
        return taken;
    }

    void close() {
        thread.shutdown();
    }
}
