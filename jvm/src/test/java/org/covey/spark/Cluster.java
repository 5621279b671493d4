package org.covey.spark;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.apache.spark.SparkConf;
import org.apache.spark.deploy.master.Master;
import org.apache.spark.deploy.worker.Worker;
import org.apache.spark.sql.SparkSession;

import scala.Option;

/**
 * A cluster of Spark in standalone mode: a master and three workers in this JVM, at loopback addresses of their own.
 * Executors are processes. It starts when the first test needs it, and ends with the JVM.
 */
final class Cluster {
    /** The hosts, in the order of their ports. */
    static final List<String> HOSTS = List.of("127.0.0.2", "127.0.0.3", "127.0.0.4");

    private static final Path FOLDER = Path.of(System.getProperty("covey.cluster"));
    /** Where executors have their files. */
    static final Path LOCAL = FOLDER.resolve("local").toAbsolutePath();

    private static final int WORKER_MB = 1024;

    private static String master;

    private Cluster() {}

    /** Starts an application on the cluster. Its session is to be closed before the next starts. */
    static SparkSession application(String name, Map<String, String> settings) throws IOException {
        return session(master(), name, settings);
    }

    /** Starts an application whose executor is this JVM. */
    static SparkSession local(String name, Map<String, String> settings) {
        return session("local[2]", name, settings);
    }

    private static SparkSession session(String master, String name, Map<String, String> settings) {
        SparkConf conf = new SparkConf(false)
                .setMaster(master)
                .setAppName(name)
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.local.dir", LOCAL.toString())
                .set("spark.executor.memory", "600m")
                // Executors live for seconds: what they compile must not take longer than it saves.
                .set("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
                        + "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
                        + "-Dlog4j2.configurationFile=org/apache/spark/log4j2-defaults.properties")
                .set("spark.sql.codegen.wholeStage", "false")
                .set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
                .set("spark.ui.enabled", "false")
                .set("spark.sql.shuffle.partitions", "6")
                .set("spark.sql.autoBroadcastJoinThreshold", "-1");
        settings.forEach(conf::set);
        return SparkSession.builder().config(conf).getOrCreate();
    }

    /** The warnings of the plug-in in what the executors of an application have said. */
    static List<String> said(String application) throws IOException {
        List<String> lines = new ArrayList<>();
        try (Stream<Path> files = Files.walk(FOLDER.resolve("work").resolve(application))) {
            for (Path file : files.filter(it -> it.endsWith("stderr")).toList()) {
                Files.readAllLines(file).stream().filter(line -> line.contains(" WARN covey: ")).forEach(lines::add);
            }
        }
        return lines;
    }

    private static synchronized String master() throws IOException {
        if (master == null) {
            linkJars();
            SparkConf conf = new SparkConf(false)
                    .set("spark.ui.enabled", "false").set("spark.local.dir", LOCAL.toString());
            master = Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, conf)._1().address().toSparkURL();
            for (int k = 0; k < HOSTS.size(); k++) {
                Worker.startRpcEnvAndEndpoint(
                        HOSTS.get(k), 0, 0, 1, WORKER_MB, new String[] {master},
                        FOLDER.resolve("work").toAbsolutePath().toString(), Option.apply(k), conf, Option.empty());
            }
        }
        return master;
    }

    /** Workers take Spark from SPARK_HOME: the jars of this JVM. */
    private static void linkJars() throws IOException {
        Path jars = Path.of(System.getenv("SPARK_HOME")).resolve("jars");
        Files.createDirectories(jars);
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (entry.endsWith(".jar")) {
                Path jar = Path.of(entry);
                try {
                    Files.createSymbolicLink(jars.resolve(jar.getFileName()), jar);
                } catch (FileAlreadyExistsException error) {
                    // An earlier run has made it.
                }
            }
        }
    }
}
