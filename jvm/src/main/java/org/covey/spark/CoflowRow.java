package org.covey.spark;

import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.util.kvstore.KVIndex;

/** A coflow of an application, as Spark keeps it for its pages and writes it into the event log. */
public final class CoflowRow implements SparkListenerEvent {
    /** Its number among those of the application. */
    @KVIndex
    @JsonProperty
    public final int number;
    /** Its name at the coordinator. */
    @JsonProperty
    public final String name;
    /** The stage that reads it. */
    @JsonProperty
    public final int stage;
    /** The attempt of the stage. */
    @JsonProperty
    public final int attempt;
    /** Its shuffle; -1 for all that the attempt reads. */
    @JsonProperty
    public final int shuffle;
    /** When the attempt began, in milliseconds since 1970. */
    @JsonProperty
    public final long begin;
    /** When the attempt ended, in milliseconds since 1970; 0 if it has not. */
    @JsonProperty
    public long end;
    /** Bytes that executors have received from one another. */
    @JsonProperty
    public long bytes;
    /** Seconds for which all its requests had to wait. */
    @JsonProperty
    public double waited;
    /** Seconds for which each other coflow was served meanwhile on a link that it needs, by name. */
    @JsonProperty
    public Map<String, Double> behind;

    /** A coflow that has begun. */
    CoflowRow(int number, String name, int stage, int attempt, int shuffle, long begin) {
        this(number, name, stage, attempt, shuffle, begin, 0, 0, 0, new TreeMap<>());
    }

    /** As it is written. */
    @JsonCreator
    CoflowRow(
            @JsonProperty("number") int number, @JsonProperty("name") String name, @JsonProperty("stage") int stage,
            @JsonProperty("attempt") int attempt, @JsonProperty("shuffle") int shuffle, @JsonProperty("begin") long begin,
            @JsonProperty("end") long end, @JsonProperty("bytes") long bytes, @JsonProperty("waited") double waited,
            @JsonProperty("behind") Map<String, Double> behind) {
        this.number = number;
        this.name = name;
        this.stage = stage;
        this.attempt = attempt;
        this.shuffle = shuffle;
        this.begin = begin;
        this.end = end;
        this.bytes = bytes;
        this.waited = waited;
        this.behind = behind;
    }

    /** One that does not change any more. */
    CoflowRow copy() {
        return new CoflowRow(
                number, name, stage, attempt, shuffle, begin, end, bytes, waited, new TreeMap<>(behind));
    }
}
