package org.covey.spark;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.covey.client.Authority;
import org.covey.client.Coordinator;

/**
 * The settings of the plug-in.
 *
 * @param mode what it does
 * @param coordinator the coordinator's address
 * @param tokenFile the file with the token; null for none
 * @param caFile the file with the authority of the coordinator's certificate; null for those that the JVM trusts
 * @param ports the port of the network of each host; empty if the coordinator's agents say it
 * @param report the file for what is known at the application's end; null for none
 */
record Settings(Mode mode, URI coordinator, Path tokenFile, Path caFile, Map<String, Integer> ports, Path report) {
    /** What the plug-in does. */
    enum Mode {
        /** Nothing. */
        OFF,
        /** It tells the coordinator the shuffles. */
        OBSERVE,
        /** Executors also keep requests back while the coordinator has the flows wait. */
        SCHEDULE,
        /** Connections of each stage are its own, and the coordinator is told which they are. */
        LABEL
    }

    /** Spark's setting of the codec of shuffles. */
    static final String CODEC = "spark.io.compression.codec";
    private static final String PUSH = "spark.shuffle.push.enabled";
    private static final Logger LOG = LoggerFactory.getLogger("covey");
    private static final Duration DEADLINE = Duration.ofSeconds(10);

    /**
     * Reads them.
     *
     * @throws IllegalArgumentException if one is wrong
     */
    static Settings of(SparkConf conf) {
        Map<String, Integer> ports = new TreeMap<>();
        String hosts = conf.get("spark.covey.hosts", "");
        for (String entry : hosts.isBlank() ? new String[0] : hosts.split(",")) {
            String[] parts = entry.strip().split("=", 2);
            if (parts.length != 2 || !parts[1].matches("\\d{1,9}")) {
                throw wrong("spark.covey.hosts", "entries like node-1=0", entry);
            }
            ports.put(parts[0], Integer.valueOf(parts[1]));
        }
        return new Settings(
                mode(conf),
                URI.create(conf.get("spark.covey.coordinator", "http://127.0.0.1:7420")),
                file(conf, "spark.covey.token.file"),
                file(conf, "spark.covey.ca.file"),
                ports,
                file(conf, "spark.covey.report"));
    }

    /** The file that a setting names; null for none. */
    private static Path file(SparkConf conf, String name) {
        String file = conf.get(name, "");
        return file.isEmpty() ? null : Path.of(file);
    }

    /** The codec that Spark is to be given; null if it keeps its own. */
    static String codec(SparkConf conf) {
        String codec = conf.get("spark.covey.codec", "spark");
        if (!List.of("spark", "smart").contains(codec)) {
            throw wrong("spark.covey.codec", "spark or smart", codec);
        }
        if (codec.equals("spark") || mode(conf) == Mode.OFF) {
            return null;
        }
        // What is merged must have one codec.
        String other = conf.contains(CODEC) ? CODEC : conf.getBoolean(PUSH, false) ? PUSH : null;
        if (other != null) {
            LOG.warn("covey: spark.covey.codec=smart does nothing: {} is set", other);
            return null;
        }
        return SmartCodec.class.getName();
    }

    /** Whether the codec is the plug-in's. */
    static boolean isSmart(SparkConf conf) {
        return conf.get(CODEC, "").equals(SmartCodec.class.getName());
    }

    /** The mode alone, which executors need. */
    static Mode mode(SparkConf conf) {
        String mode = conf.get("spark.covey.mode", "observe");
        return switch (mode) {
            case "off" -> Mode.OFF;
            case "observe" -> Mode.OBSERVE;
            case "schedule" -> Mode.SCHEDULE;
            case "label" -> Mode.LABEL;
            default -> throw wrong("spark.covey.mode", "off, observe, schedule or label", mode);
        };
    }

    private static IllegalArgumentException wrong(String name, String expected, String found) {
        return new IllegalArgumentException(name + ": expected " + expected + ", found '" + found + "'");
    }

    /** The coordinator. */
    Coordinator connect() throws IOException {
        String token = tokenFile == null ? "" : Files.readString(tokenFile).strip();
        return new Coordinator(coordinator, token, DEADLINE, caFile == null ? null : Authority.of(caFile));
    }
}
