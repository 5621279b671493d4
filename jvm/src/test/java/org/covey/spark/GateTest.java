package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests of a coflow that waits are held, and issued in the end whatever happens. */
class GateTest {
    private static final Waiting LATER = new Waiting(3, 0, "a");
    private static final Waiting NOW = new Waiting(2, 0, "a");
    private static final long LONG = TimeUnit.SECONDS.toNanos(600);

    private final BlockingQueue<String> done = new LinkedBlockingQueue<>();
    private final BlockingQueue<Integer> counts = new LinkedBlockingQueue<>();
    private final Guard guard = new Guard();
    /** What the driver answers. */
    private volatile List<String> answer = List.of(LATER.text());
    private Gate gate;

    private void gate(long maxNs) throws Exception {
        gate = new Gate("1", "a", asks -> {
            assertEquals(asks, Gate.Asks.of(asks.text()));
            counts.add(asks.held());
            if (answer == null) {
                throw new NoSuchMethodError("a fault for a test");
            }
            return answer;
        }, maxNs, guard);
        // The first request goes: nothing is known of it.
        assertFalse(gate.takes(request(LATER, "first")));
        counts.take();
        counts.take();
    }

    private Gate.Request request(Waiting key, String name) {
        return new Gate.Request(
                key, () -> done.add(name), () -> done.add(name + " fails"), () -> name.equals("dead"));
    }

    private String next() throws InterruptedException {
        return done.poll(60, TimeUnit.SECONDS);
    }

    @AfterEach
    void end() {
        gate.close();
    }

    @Test
    void aRequestWaitsForItsTurn() throws Exception {
        gate(LONG);
        assertTrue(gate.takes(request(LATER, "later")));
        assertFalse(gate.takes(request(NOW, "now")));
        while (counts.take() == 0) {
            assertNull(done.peek());
        }
        answer = List.of();
        assertEquals("later", next());
        assertFalse(gate.takes(request(LATER, "at once")));
    }

    @Test
    void aRequestOfATaskThatHasEndedFails() throws Exception {
        gate(LONG);
        assertTrue(gate.takes(request(LATER, "dead")));
        assertEquals("dead fails", next());
    }

    @Test
    void aRequestWaitsForALimitedTime() throws Exception {
        gate(1);
        assertTrue(gate.takes(request(LATER, "later")));
        assertEquals("later", next());
    }

    @Test
    void nothingWaitsOnceTheDriverDoesNotAnswer() throws Exception {
        gate(LONG);
        assertTrue(gate.takes(request(LATER, "later")));
        answer = null;
        assertEquals("later", next());
        assertTrue(guard.hasFailed());
        assertFalse(gate.takes(request(LATER, "at once")));
    }

    @Test
    void nothingWaitsWhenTheExecutorEnds() throws Exception {
        gate(LONG);
        assertTrue(gate.takes(request(LATER, "later")));
        gate.close();
        assertEquals("later", next());
        assertFalse(gate.takes(request(LATER, "at once")));
    }

    @Test
    void everyMethodOfThisSparkIsPassedOn() {
        assertNull(PassingClient.unknownMethod());
        gate = new Gate("1", "a", asks -> List.of(), LONG, guard);
    }
}
