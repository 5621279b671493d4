package org.covey.spark;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

/** A server before a coordinator: it passes requests on, and adds up the bytes of flows by their ports. */
final class Front implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpClient http = HttpClient.newHttpClient();
    private final URI coordinator;
    private final Map<String, Double> bytes = new TreeMap<>();
    private final Map<String, Integer> labels = new TreeMap<>();
    /** Runs after each registration. */
    private final Runnable afterRegistration;

    Front(URI coordinator, Runnable afterRegistration) throws IOException {
        this.coordinator = coordinator;
        this.afterRegistration = afterRegistration;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::pass);
        server.start();
    }

    URI address() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Bytes that were added, by {@code "source-destination"}. */
    synchronized Map<String, Double> bytes() {
        return new TreeMap<>(bytes);
    }

    private void pass(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        HttpRequest.Builder request = HttpRequest.newBuilder(coordinator.resolve(exchange.getRequestURI()))
                .method(exchange.getRequestMethod(), HttpRequest.BodyPublishers.ofByteArray(body));
        for (String name : new String[] {"Authorization", "Content-Type", "Idempotency-Key"}) {
            String value = exchange.getRequestHeaders().getFirst(name);
            if (value != null) {
                request.header(name, value);
            }
        }
        try (exchange) {
            HttpResponse<byte[]> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
            if (exchange.getRequestURI().getPath().equals("/v1/flows/community")) {
                label(JSON.readTree(body), answer.statusCode());
            }
            if (exchange.getRequestMethod().equals("PATCH") && answer.statusCode() == 200) {
                add(JSON.readTree(body).path("add"));
            }
            exchange.sendResponseHeaders(answer.statusCode(), answer.body().length == 0 ? -1 : answer.body().length);
            exchange.getResponseBody().write(answer.body());
            if (exchange.getRequestMethod().equals("POST")) {
                afterRegistration.run();
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    /** The community of each connection that was labelled, by {@code "from to"}. */
    synchronized Map<String, Integer> labels() {
        return new TreeMap<>(labels);
    }

    private synchronized void label(JsonNode label, int status) {
        for (JsonNode flow : label.path("flows")) {
            String ends = flow.path("from").asText() + " " + flow.path("to").asText();
            labels.put(ends, status / 100 == 2 ? label.path("community").asInt() : -status);
        }
    }

    private synchronized void add(JsonNode flows) {
        for (JsonNode flow : flows) {
            bytes.merge(flow.path("src") + "-" + flow.path("dst"), flow.path("bytes").asDouble(), Double::sum);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
