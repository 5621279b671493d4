package org.covey.spark;

import java.util.concurrent.atomic.AtomicBoolean;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs callbacks so that nothing in them reaches Spark. The first failure is said in one line and ends the plug-in: its
 * later callbacks do nothing.
 */
public class Guard {
    private static final Logger LOG = LoggerFactory.getLogger("covey");

    private final AtomicBoolean hasFailed = new AtomicBoolean();

    /** What may fail. */
    @FunctionalInterface
    public interface Action {
        /** Does it. */
        void run() throws Exception;
    }

    /**
     * Runs a callback.
     *
     * @param callback its name, for the log
     */
    public final void run(String callback, Action action) {
        if (hasFailed.get()) {
            return;
        }
        try {
            before(callback);
            action.run();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } catch (Throwable error) {
            // Errors, too: a jar for another version of Scala gives NoSuchMethodError, and would end the driver.
            if (hasFailed.compareAndSet(false, true)) {
                LOG.warn("covey: {} failed, the application goes on without it: {}", callback, error.toString());
            }
        }
    }

    /** Whether the plug-in has ended. */
    final boolean hasFailed() {
        return hasFailed.get();
    }

    /** Runs before each callback. Tests throw here. */
    protected void before(String callback) {}
}
