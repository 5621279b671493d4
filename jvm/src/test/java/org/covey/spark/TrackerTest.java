package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
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
    private final Coflows coflows = new Coflows();
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
        public String name(long coflow) {
            return "other " + coflow;
        }

        @Override
        public double portRate() {
            return 100;
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
            new Tracker("app", registry, TrackerTest::parts, PORTS::get, coflows);

    private static double[] parts(int shuffle, int count) {
        return count == 3 ? new double[] {60, 30, 30} : null;
    }

    private void take(Event... events) throws Exception {
        for (Event event : events) {
            tracker.take(event);
        }
        tracker.flush();
    }

    /** A schedule for two hosts with agents. */
    private static Registry.Schedule served(Registry.Served... flows) {
        Map<Registry.Served, Double> rates = new HashMap<>();
        for (Registry.Served flow : flows) {
            rates.put(flow, 5.0);
        }
        return new Registry.Schedule(rates, Set.of(0, 1));
    }

    /** A stage of two tasks that writes a shuffle: 80 bytes on a, 40 on b. */
    private void write(int stage, int shuffle, Integer... parents) throws Exception {
        take(new Event.StageNamed(stage, shuffle),
                new Event.StageBegun(stage, 0, 2, List.of(parents), 1000L),
                new Event.TaskBegun(stage, 0, 0, "a"),
                new Event.TaskBegun(stage, 0, 1, "b"),
                new Event.TaskEnded(stage, 0, "a", 80),
                new Event.TaskEnded(stage, 1, "b", 40),
                new Event.StageEnded(stage, 0, false, 3500L));
    }

    @Test
    void aShuffleIsRegisteredFilledAndEnded() throws Exception {
        write(1, 5);
        take(new Event.StageNamed(2, -1), new Event.StageBegun(2, 0, 3, List.of(1), 1000L),
                new Event.TaskBegun(2, 0, 0, "b"), new Event.TaskBegun(2, 0, 1, "a"));
        take(new Event.TaskBegun(2, 0, 2, "a"), new Event.TaskBegun(2, 0, 0, "a"));
        take(new Event.StageEnded(2, 0, false, 3500L));
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
        tracker.take(new Event.StageBegun(2, 0, 3, List.of(1), 1000L));
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
        take(new Event.StageBegun(2, 0, 3, List.of(1, 3), 1000L), new Event.TaskBegun(2, 0, 0, "b"));
        assertEquals(Set.of(new Waiting(2, 0, "b")), tracker.waiting(served()));
        assertEquals(Set.of(), tracker.waiting(served(new Registry.Served(11, 0, 1))));
    }

    /** The only coflow, as it is in Spark's pages. */
    private CoflowRow row() {
        assertEquals(1, coflows.rows(Map.of()).size());
        return coflows.rows(Map.of(
                new Transfers.Key(2, 0, 5, "1", "2"), 30L, new Transfers.Key(2, 0, 5, "2", "1"), 10L,
                new Transfers.Key(2, 0, 6, "1", "2"), 7L, new Transfers.Key(2, 1, 5, "1", "2"), 7L)).get(0);
    }

    @Test
    void aCoflowWaitsForThoseThatAreServedOnItsLinks() throws Exception {
        write(1, 5);
        take(new Event.StageBegun(2, 0, 3, List.of(1), 1000L));
        // It has no flow yet.
        coflows.look(tracker.present(), served(), 1, registry::name);
        take(new Event.TaskBegun(2, 0, 0, "b"));
        Registry.Served elsewhere = new Registry.Served(8, 1, 0);
        Registry.Served before = new Registry.Served(7, 0, 2);
        coflows.look(tracker.present(), served(elsewhere, before), 0.5, registry::name);
        coflows.look(tracker.present(), served(before, new Registry.Served(7, 2, 1)), 0.25, registry::name);
        coflows.look(tracker.present(), served(before, new Registry.Served(10, 0, 1)), 4, registry::name);
        assertEquals(0, row().end);
        take(new Event.StageEnded(2, 0, false, 3500L));
        coflows.look(tracker.present(), served(before), 4, registry::name);
        CoflowRow row = row();
        assertEquals("app shuffle 5 read 0", row.name);
        assertEquals(List.of(2, 0, 5), List.of(row.stage, row.attempt, row.shuffle));
        assertEquals(List.of(1000L, 3500L, 40L), List.of(row.begin, row.end, row.bytes));
        assertEquals(0.75, row.waited);
        assertEquals(Map.of("other 7", 0.75), row.behind);
    }

    @Test
    void thePageOfCoflowsSaysWhomTheyWaitedFor() throws Exception {
        write(1, 5);
        take(new Event.StageBegun(2, 0, 3, List.of(1), 1000L), new Event.TaskBegun(2, 0, 0, "b"));
        coflows.look(tracker.present(), served(new Registry.Served(7, 0, 2)), 0.5, id -> "<b> & c");
        String running = CoflowsTable.html(List.of(row()), "/stages/stage/");
        assertTrue(running.contains(">runs</td>"), running);
        take(new Event.StageEnded(2, 0, false, 3500L));
        String html = CoflowsTable.html(List.of(row()), "/stages/stage/");
        for (String cell : List.of(
                "app shuffle 5 read 0", "<a href=\"/stages/stage/?id=2&amp;attempt=0\">2.0</a>", ">5</td>", ">40</td>",
                ">2.500 s</td>", ">0.500 s</td>", "&lt;b&gt; &amp; c (0.500 s)")) {
            assertTrue(html.contains(cell), cell + " in " + html);
        }
        assertFalse(html.contains("latest"));
        assertTrue(CoflowsTable.html(Collections.nCopies(1001, row()), "").contains("The latest 1000 of 1001."));
    }

    @Test
    void whatOthersTakeOfALinkDoesNotCountTheApplicationsOwn() throws Exception {
        write(1, 5);
        Registry.Schedule schedule = served(
                new Registry.Served(10, 0, 1), new Registry.Served(7, 0, 1), new Registry.Served(8, 0, 2),
                new Registry.Served(8, 2, 0), new Registry.Served(9, 2, 1));
        assertEquals(10, tracker.taken("a", schedule));
        assertEquals(10, tracker.taken("b", schedule));
        assertEquals(0, tracker.taken("elsewhere", schedule));
    }

    @Test
    void requestsWaitWhoseFlowsHaveNoRate() throws Exception {
        write(1, 5);
        take(new Event.StageBegun(2, 1, 3, List.of(1), 1000L));
        assertEquals(Set.of(), tracker.waiting(served()));
        take(new Event.TaskBegun(2, 1, 0, "b"), new Event.TaskBegun(2, 1, 1, "a"));
        assertEquals(Set.of(new Waiting(2, 1, "a"), new Waiting(2, 1, "b")), tracker.waiting(served()));
        // Another coflow's rate does not count.
        Registry.Schedule schedule = served(new Registry.Served(10, 0, 1), new Registry.Served(11, 1, 0));
        assertEquals(Set.of(new Waiting(2, 1, "a")), tracker.waiting(schedule));
        assertFalse(tracker.lacksAgents());
        // A host without an agent is nobody's turn.
        assertEquals(Set.of(), tracker.waiting(new Registry.Schedule(Map.of(), Set.of(0))));
        assertTrue(tracker.lacksAgents());
        assertTrue(tracker.isReading());
        take(new Event.StageEnded(2, 1, false, 3500L));
        assertEquals(Set.of(), tracker.waiting(served()));
        assertFalse(tracker.isReading());
    }

    @Test
    void aSecondReaderIsAnotherCoflowAndASkippedStageIsFound() throws Exception {
        write(1, 5);
        take(new Event.StageBegun(2, 0, 3, List.of(1), 1000L), new Event.StageEnded(2, 0, false, 3500L));
        // The next job names the shuffle by a stage that never runs.
        take(new Event.StageNamed(7, 5), new Event.StageNamed(8, 6), new Event.StageBegun(8, 0, 2, List.of(7), 1000L),
                new Event.TaskBegun(8, 0, 0, "b"), new Event.TaskEnded(8, 0, "b", 10),
                new Event.StageEnded(8, 0, false, 3500L));
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
        take(new Event.StageBegun(2, 0, 3, List.of(1), 1000L), new Event.StageEnded(2, 0, true, 3500L),
                new Event.TaskEnded(1, 1, "a", 40),
                new Event.StageBegun(2, 1, 3, List.of(1), 1000L), new Event.TaskBegun(2, 1, 1, "b"));
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
        take(new Event.StageBegun(2, 0, 3, List.of(1), 1000L), new Event.TaskBegun(2, 0, 0, "elsewhere"));
        take(new Event.ApplicationEnded());
        assertEquals(List.of(
                "register 10 app shuffle 5 read 0 after []",
                "register 11 app shuffle 6 read 1 after []",
                "end 11",
                "end 10"), heard);
        assertEquals("[elsewhere]", tracker.unknownHosts().toString());
    }
}
