package org.covey.client;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import javax.net.ssl.SSLContext;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

/** The coordinator's REST interface, as an application uses it. Threads may share one. */
public final class Coordinator {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final URI address;
    private final String token;
    private final Duration deadline;
    private final HttpClient http;

    /**
     * A coordinator, which is not asked anything yet.
     *
     * @param address such as {@code http://127.0.0.1:7420}; for https the JVM's trust store holds its authority
     * @param token a token with the rights {@code read} and {@code register}
     * @param deadline the most time that a request takes
     */
    public Coordinator(URI address, String token, Duration deadline) {
        this(address, token, deadline, null);
    }

    /**
     * A coordinator whose authority is not in the JVM's trust store.
     *
     * @param authority whom to trust ({@link Authority#of}); null for whom the JVM trusts
     */
    public Coordinator(URI address, String token, Duration deadline, SSLContext authority) {
        this.address = address;
        this.token = token;
        this.deadline = deadline;
        HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(deadline);
        http = (authority == null ? builder : builder.sslContext(authority)).build();
    }

    /**
     * Registers a coflow.
     *
     * @param key the same registration again, with the same key, gives the same coflow
     * @return its number
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public long register(Coflow coflow, String key) throws IOException {
        JsonNode answer = send("POST", "/v1/coflows", coflow, Map.of("Idempotency-Key", key));
        JsonNode id = answer.path("id");
        if (!id.isIntegralNumber()) {
            throw new ProtocolException("coordinator: expected the id of a coflow, found " + answer);
        }
        return id.longValue();
    }

    /**
     * Changes a coflow.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public void update(long coflow, Update update) throws IOException {
        send("PATCH", "/v1/coflows/" + Long.toUnsignedString(coflow), update, Map.of());
    }

    /**
     * Keeps a coflow for its lease once more.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public void keep(long coflow) throws IOException {
        send("POST", "/v1/coflows/" + Long.toUnsignedString(coflow) + "/keep", Map.of(), Map.of());
    }

    /**
     * Gives a coflow up: flows that have not ended are cancelled.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public void end(long coflow) throws IOException {
        send("DELETE", "/v1/coflows/" + Long.toUnsignedString(coflow), null, Map.of());
    }

    /**
     * Says which flows belong together, for policies that go by labels.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public void label(Community community) throws IOException {
        send("POST", "/v1/flows/community", community, Map.of());
    }

    /**
     * The speed of each port, in bytes per second.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public double portRate() throws IOException {
        return get("/v1/coordinator").path("port_rate").doubleValue();
    }

    /**
     * Asks for something: {@code /v1/agents}, for one.
     *
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public JsonNode get(String path) throws IOException {
        return send("GET", path, null, Map.of());
    }

    /**
     * Asks for a list, and reads all its pages.
     *
     * @param path such as {@code /v1/agents}
     * @throws IOException if the coordinator does not answer, or refuses
     */
    public List<JsonNode> list(String path) throws IOException {
        List<JsonNode> items = new ArrayList<>();
        String cursor = "";
        do {
            JsonNode page = get(path + "?limit=1000" + cursor);
            page.path("items").forEach(items::add);
            cursor = page.path("next").isTextual() ? "&cursor=" + page.path("next").textValue() : "";
        } while (!cursor.isEmpty());
        return items;
    }

    private JsonNode send(String method, String path, Object body, Map<String, String> headers) throws IOException {
        HttpRequest.BodyPublisher content = body == null
                ? HttpRequest.BodyPublishers.noBody()
                : HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body));
        HttpRequest.Builder request = HttpRequest.newBuilder(address.resolve(path))
                .timeout(deadline)
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .method(method, content);
        headers.forEach(request::header);
        HttpResponse<byte[]> answer;
        try {
            answer = http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the coordinator was asked");
        }
        if (answer.statusCode() / 100 != 2) {
            throw new RefusedException(answer.statusCode(), detail(answer.body()));
        }
        return answer.body().length == 0 ? JSON.nullNode() : JSON.readTree(answer.body());
    }

    /** What the coordinator has against a request. */
    private static String detail(byte[] problem) {
        try {
            JsonNode detail = JSON.readTree(problem).path("detail");
            return detail.isTextual() ? detail.textValue() : "no reason";
        } catch (IOException error) {
            return "no reason";
        }
    }
}
