package org.covey;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.covey.client.Authority;
import org.covey.client.Coordinator;

/** The program {@code covey}, which the variable COVEY of the environment names. */
public final class Covey {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration SOON = Duration.ofSeconds(120);

    private Covey() {}

    /** Skips the test where there is none. */
    public static void needed() {
        assumeTrue(System.getenv("COVEY") != null, "COVEY names no program: `make jvm` does");
    }

    private static ProcessBuilder command(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(System.getenv("COVEY")));
        command.addAll(arguments);
        return new ProcessBuilder(command);
    }

    /** Runs it, and gives what it prints. */
    public static JsonNode json(List<String> arguments) throws Exception {
        Process process = command(arguments).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        byte[] printed = process.getInputStream().readAllBytes();
        if (process.waitFor() != 0) {
            throw new IOException("covey " + arguments + " failed");
        }
        return JSON.readTree(printed);
    }

    /** Makes certificates of a coordinator on loopback. */
    public static void initialise(Path folder) throws Exception {
        List<String> arguments = List.of("serve", "--init", "--data", folder.toString(), "--name", "127.0.0.1");
        if (command(arguments).inheritIO().start().waitFor() != 0) {
            throw new IOException("covey " + arguments + " failed");
        }
    }

    /** A port of loopback that nobody has. */
    public static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** Waits until something is there. */
    public static <T> T await(String what, Callable<T> look) throws Exception {
        long end = System.nanoTime() + SOON.toNanos();
        while (System.nanoTime() < end) {
            T found;
            try {
                found = look.call();
            } catch (IOException error) {
                found = null;
            }
            if (found != null) {
                return found;
            }
            Thread.sleep(20);
        }
        throw new AssertionError(what + ": not there after " + SOON.toSeconds() + " s");
    }

    /** A part of Covey that goes on until it is closed. What it says is in a file of its folder. */
    public static final class Server implements AutoCloseable {
        /** Its folder. */
        public final Path folder;
        /** Where clients ask, and where agents connect. */
        public final URI clients;
        private final int agents;
        private final int ports;
        private final Process process;

        /**
         * A coordinator, which answers.
         *
         * @param options further ones of {@code covey serve}
         */
        public Server(Path folder, int ports, String policy, List<String> options) throws Exception {
            this.folder = folder;
            this.ports = ports;
            clients = URI.create((hasTls() ? "https" : "http") + "://127.0.0.1:" + freePort());
            agents = freePort();
            List<String> command = new ArrayList<>(List.of(
                    "serve", "--data", folder.toString(), "--ports", String.valueOf(ports), "--policy", policy,
                    "--clients", clients.getAuthority(), "--agents", "127.0.0.1:" + agents));
            command.addAll(options);
            process = start(folder.resolve("serve.out"), command);
            await("the coordinator", () -> client().get("/v1/coordinator"));
        }

        private static Process start(Path log, List<String> arguments) throws IOException {
            return command(arguments).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        }

        /** The file with its token. */
        public Path token() {
            return folder.resolve("token");
        }

        /** A client of it. */
        public Coordinator client() throws IOException {
            String token = Files.readString(token()).strip();
            return new Coordinator(clients, token, SOON, hasTls() ? Authority.of(authority()) : null);
        }

        /** The file with the authority of its certificate, if {@link Covey#initialise} has made one. */
        public Path authority() {
            return folder.resolve("ca.pem");
        }

        private boolean hasTls() {
            return Files.exists(authority());
        }

        /**
         * Agents of all ports, each with a socket {@code agent-N.sock} in the folder if applications are its concern.
         */
        public AutoCloseable agents(String enforcer) throws Exception {
            List<Process> processes = new ArrayList<>();
            for (int port = 0; port < ports; port++) {
                List<String> command = new ArrayList<>(List.of(
                        "agent", "--port", String.valueOf(port), "--enforcer", enforcer,
                        "--coordinator", "127.0.0.1:" + agents, "--credentials", folder.toString()));
                if (!enforcer.equals("none")) {
                    command.addAll(List.of("--socket", socket(port).toString()));
                }
                processes.add(start(folder.resolve("agent-" + port + ".out"), command));
            }
            await("agents", () -> {
                int live = 0;
                for (JsonNode agent : client().get("/v1/agents").path("items")) {
                    live += agent.path("state").asText().equals("joined") ? 1 : 0;
                }
                return live == ports ? true : null;
            });
            return () -> processes.forEach(it -> it.destroyForcibly().onExit().join());
        }

        /** The socket of a host's agent. */
        public Path socket(int port) {
            return folder.resolve("agent-" + port + ".sock");
        }

        @Override
        public void close() {
            process.destroyForcibly().onExit().join();
        }
    }
}
