package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.covey.client.Coflow;
import org.covey.client.Flow;
import org.junit.jupiter.api.Test;

/** What a coordinator hears of stages and tasks. */
class TrackerTest {
    private static final Map<String, Integer> PORTS = Map.of("a", 0, "b", 1);

    private final List<String> heard = new ArrayList<>();
    private final Registry registry = new Registry() {
        private long next = 10;

        @Override
        public long register(Coflow coflow) {
            heard.add("register " + next + " " + coflow.name() + " after " + coflow.parents());
            return next++;
        }

        @Override
        public void add(long coflow, List<Flow> flows) {
            for (Flow flow : flows) {
                heard.add("add " + coflow + " " + flow.src() + "-" + flow.dst() + " " + flow.bytes());
            }
        }

        @Override
        public Schedule schedule() {
            throw new AssertionError("a tracker does not ask");
        }

        @Override
        public void cancel(long coflow, List<Integer> flows) {
            heard.add("cancel " + coflow + " " + flows);
        }

        @Override
        public void end(long coflow) {
            heard.add("end " + coflow);
        }
    };
    /** Of three parts, the first has half. */
    private final Tracker tracker =
            new Tracker("app", registry, (shuffle, count) -> count == 3 ? new double[] {60, 30, 30} : null, PORTS::get);

    private void take(Event... events) throws Exception {
        for (Event event : events) {
            tracker.take(event);
        }
        tracker.flush();
    }

    /** A schedule for two hosts with agents. */
    private static Registry.Schedule served(Registry.Served... flows) {
        return new Registry.Schedule(Set.of(flows), Set.of(0, 1));
    }

    /** A stage of two tasks that writes a shuffle: 80 bytes on a, 40 on b. */
    private void write(int stage, int shuffle, Integer... parents) throws Exception {
        take(new Event.StageNamed(stage, shuffle),
                new Event.StageBegun(stage, 0, 2, List.of(parents)),
                new Event.TaskBegun(stage, 0, 0, "a"),
                new Event.TaskBegun(stage, 0, 1, "b"),
                new Event.TaskEnded(stage, 0, "a", 80),
                new Event.TaskEnded(stage, 1, "b", 40),
                new Event.StageEnded(stage, 0, false));
    }

    @Test
    void aShuffleIsRegisteredFilledAndEnded() throws Exception {
        write(1, 5);
        take(new Event.StageNamed(2, -1), new Event.StageBegun(2, 0, 3, List.of(1)),
                new Event.TaskBegun(2, 0, 0, "b"), new Event.TaskBegun(2, 0, 1, "a"));
        take(new Event.TaskBegun(2, 0, 2, "a"), new Event.TaskBegun(2, 0, 0, "a"));
        take(new Event.StageEnded(2, 0, false));
        assertEquals(List.of(
                "register 10 app shuffle 5 read 0 after []",
                "add 10 0-1 40.0",
                "add 10 1-0 10.0",
                "add 10 1-0 10.0",
                "end 10"), heard);
    }

    @Test
    void aFlowEndsWithTheTasksThatReadIt() throws Exception {
        write(1, 5);
        tracker.take(new Event.StageBegun(2, 0, 3, List.of(1)));
        take(new Event.TaskBegun(2, 0, 0, "b"), new Event.TaskBegun(2, 0, 1, "b"));
        take(new Event.TaskBegun(2, 0, 2, "a"));
        take(new Event.TaskEnded(2, 0, "b", 0));
        take(new Event.TaskEnded(2, 2, "a", 0), new Event.TaskEnded(2, 1, "b", 0));
        assertEquals(List.of(
                "register 10 app shuffle 5 read 0 after []",
                "add 10 0-1 60.0",
                "add 10 1-0 10.0",
                "cancel 10 [0, 1]"), heard);
        assertEquals(Set.of(), tracker.waiting(served()));
    }

    @Test
    void twoShufflesOfAStageDoNotWaitForEachOther() throws Exception {
        write(1, 5);
        write(3, 6);
        take(new Event.StageBegun(2, 0, 3, List.of(1, 3)), new Event.TaskBegun(2, 0, 0, "b"));
        assertEquals(Set.of(new Waiting(2, 0, "b")), tracker.waiting(served()));
        assertEquals(Set.of(), tracker.waiting(served(new Registry.Served(11, 0, 1))));
    }

    @Test
    void requestsWaitWhoseFlowsHaveNoRate() throws Exception {
        write(1, 5);
        take(new Event.StageBegun(2, 1, 3, List.of(1)));
        assertEquals(Set.of(), tracker.waiting(served()));
        take(new Event.TaskBegun(2, 1, 0, "b"), new Event.TaskBegun(2, 1, 1, "a"));
        assertEquals(Set.of(new Waiting(2, 1, "a"), new Waiting(2, 1, "b")), tracker.waiting(served()));
        // Another coflow's rate does not count.
        Registry.Schedule schedule = served(new Registry.Served(10, 0, 1), new Registry.Served(11, 1, 0));
        assertEquals(Set.of(new Waiting(2, 1, "a")), tracker.waiting(schedule));
        assertFalse(tracker.lacksAgents());
        // A host without an agent is nobody's turn.
        assertEquals(Set.of(), tracker.waiting(new Registry.Schedule(Set.of(), Set.of(0))));
        assertTrue(tracker.lacksAgents());
        assertTrue(tracker.isReading());
        take(new Event.StageEnded(2, 1, false));
        assertEquals(Set.of(), tracker.waiting(served()));
        assertFalse(tracker.isReading());
    }

    @Test
    void aSecondReaderIsAnotherCoflowAndASkippedStageIsFound() throws Exception {
        write(1, 5);
        take(new Event.StageBegun(2, 0, 3, List.of(1)), new Event.StageEnded(2, 0, false));
        // The next job names the shuffle by a stage that never runs.
        take(new Event.StageNamed(7, 5), new Event.StageNamed(8, 6), new Event.StageBegun(8, 0, 2, List.of(7)),
                new Event.TaskBegun(8, 0, 0, "b"), new Event.TaskEnded(8, 0, "b", 10), new Event.StageEnded(8, 0, false));
        assertEquals(List.of(
                "register 10 app shuffle 5 read 0 after []",
                "end 10",
                "register 11 app shuffle 5 read 1 after []",
                "add 11 0-1 40.0",
                "cancel 11 [0]",
                "register 12 app shuffle 6 read 2 after [11]",
                "end 11"), heard);
    }

    @Test
    void aFailedAttemptIsEndedAndReadAgain() throws Exception {
        write(1, 5);
        take(new Event.StageBegun(2, 0, 3, List.of(1)), new Event.StageEnded(2, 0, true),
                new Event.TaskEnded(1, 1, "a", 40),
                new Event.StageBegun(2, 1, 3, List.of(1)), new Event.TaskBegun(2, 1, 1, "b"));
        take(new Event.ApplicationEnded());
        assertEquals(List.of(
                "register 10 app shuffle 5 read 0 after []",
                "end 10",
                "register 11 app shuffle 5 read 1 after []",
                "add 11 0-1 30.0",
                "end 11"), heard);
    }

    @Test
    void whatNobodyReadsEndsWithTheApplicationAndHostsWithoutAPortAreNamed() throws Exception {
        write(1, 5);
        write(3, 6);
        take(new Event.StageBegun(2, 0, 3, List.of(1)), new Event.TaskBegun(2, 0, 0, "elsewhere"));
        take(new Event.ApplicationEnded());
        assertEquals(List.of(
                "register 10 app shuffle 5 read 0 after []",
                "register 11 app shuffle 6 read 1 after []",
                "end 11",
                "end 10"), heard);
        assertEquals("[elsewhere]", tracker.unknownHosts().toString());
    }
}
