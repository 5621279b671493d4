package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

class GuardTest {
    @Test
    void nothingReachesTheCallerAndTheFirstFailureIsTheLast() {
        Guard guard = new Guard();
        List<Integer> ran = new ArrayList<>();
        guard.run("a", () -> ran.add(1));
        guard.run("b", () -> {
            throw new NoSuchMethodError("another version of Scala");
        });
        guard.run("c", () -> ran.add(2));
        assertEquals(List.of(1), ran);
        assertTrue(guard.hasFailed());
    }
}
