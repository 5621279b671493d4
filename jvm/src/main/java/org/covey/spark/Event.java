package org.covey.spark;

import java.util.List;

/** What happens in an application, as far as coflows go. */
sealed interface Event {
    /**
     * A job names a stage, which may never run because its shuffle is there.
     *
     * @param stage its id
     * @param shuffle the shuffle that it writes; -1 for none
     */
    record StageNamed(int stage, int shuffle) implements Event {}

    /**
     * An attempt of a stage begins.
     *
     * @param stage its id
     * @param attempt the attempt
     * @param tasks number of its tasks, with those that an earlier attempt has done
     * @param parents ids of the stages whose shuffles it reads
     * @param at when, in milliseconds since 1970
     */
    record StageBegun(int stage, int attempt, int tasks, List<Integer> parents, long at) implements Event {}

    /**
     * A task begins.
     *
     * @param stage its stage
     * @param attempt the attempt of the stage
     * @param partition the part of the stage's output that it makes
     * @param host its host
     */
    record TaskBegun(int stage, int attempt, int partition, String host) implements Event {}

    /**
     * A task has succeeded.
     *
     * @param stage its stage
     * @param partition the part of the stage's output that it has made
     * @param host its host
     * @param written the shuffle bytes that it has written
     */
    record TaskEnded(int stage, int partition, String host, long written) implements Event {}

    /**
     * An attempt of a stage has ended.
     *
     * @param stage its id
     * @param attempt the attempt
     * @param hasFailed whether it has failed
     * @param at when, in milliseconds since 1970
     */
    record StageEnded(int stage, int attempt, boolean hasFailed, long at) implements Event {}

    /** The application ends. */
    record ApplicationEnded() implements Event {}
}
