package org.covey.spark;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What each stage is written with. It is chosen when the stage's first task begins: from what the links of its host
 * have left, the cores that others leave there, and how small what was written before has become.
 */
final class StageChoices {
    private static final Logger LOG = LoggerFactory.getLogger("covey");
    private static final int MAX_STAGES = 10_000;
    /**
     * So much of a link counts as left in any case, and so many cores: a process gets its share on a busy host, too.
     */
    private static final double MIN_LINK = 0.01;
    private static final double MIN_CORES = 0.1;
    /** Bytes after which what was seen before counts half. */
    private static final double MEMORY = 1e9;

    private record Slots(String host, int cores) {}

    private final Map<String, Slots> executors = new HashMap<>();
    private final Map<String, Double> taken = new HashMap<>();
    private final Map<Integer, Compressor> chosen = new LinkedHashMap<>();
    private double portRate;
    private double expected;
    private double compressed;
    private boolean hasSaidThatLinksAreUnknown;

    /** The speed of each host's link, in bytes per second. */
    synchronized void portRate(double rate) {
        portRate = rate;
    }

    /** What others have of hosts' links, in bytes per second. */
    synchronized void taken(Map<String, Double> rates) {
        taken.clear();
        taken.putAll(rates);
    }

    /** An executor is there. */
    synchronized void executor(String id, String host, int cores) {
        executors.put(id, new Slots(host, cores));
    }

    /** An executor has gone. */
    synchronized void gone(String id) {
        executors.remove(id);
    }

    synchronized Set<String> hosts() {
        Set<String> hosts = new TreeSet<>();
        executors.values().forEach(it -> hosts.add(it.host));
        return hosts;
    }

    /** What a compressor has made of some bytes. */
    synchronized void seen(StageCodecs.Seen seen) {
        if (expected > MEMORY) {
            expected /= 2;
            compressed /= 2;
        }
        expected += seen.raw() * seen.compressor().ratio();
        compressed += seen.compressed();
    }

    /** What the stage of an executor's first task is written with: lz4 where nobody knows the link. */
    synchronized Compressor choose(StageCodecs.Asks asks) {
        Compressor known = chosen.get(asks.stage());
        if (known != null) {
            return known;
        }
        if (chosen.size() >= MAX_STAGES) {
            // The stage of long ago.
            chosen.remove(chosen.keySet().iterator().next());
        }
        Compressor choice = fastest(asks);
        chosen.put(asks.stage(), choice);
        return choice;
    }

    private Compressor fastest(StageCodecs.Asks asks) {
        if (portRate <= 0) {
            sayThatLinksAreUnknown();
            return Compressor.LZ4;
        }
        double left = Math.max(MIN_LINK * portRate, portRate - taken.getOrDefault(asks.host(), 0.0));
        double slots = executors.values().stream()
                .filter(it -> it.host.equals(asks.host())).mapToInt(Slots::cores).sum();
        double cores = Math.max(MIN_CORES, Math.min(asks.cores(), Math.max(1, slots)));
        return Compressor.fastest(left, cores, expected > 0 ? compressed / expected : 1);
    }

    private void sayThatLinksAreUnknown() {
        if (!hasSaidThatLinksAreUnknown) {
            hasSaidThatLinksAreUnknown = true;
            LOG.warn("covey: the coordinator has not said how fast links are: stages are written with lz4");
        }
    }

    /** What each stage is written with, as far as one has asked. */
    synchronized Map<Integer, Compressor> chosen() {
        return new TreeMap<>(chosen);
    }
}
