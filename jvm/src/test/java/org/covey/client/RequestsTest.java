package org.covey.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import com.sun.net.httpserver.HttpServer;
import org.junit.jupiter.api.Test;

/** Requests have the bodies that the Rust crates read. */
class RequestsTest {
    private static final Coflow COFLOW = new Coflow(
            "app stage 3", List.of(4L), true, 60.0, List.of(new Flow(0, 1, 1e6), new Flow(1, 0, null)));

    @Test
    void bodiesAreThoseOfTheRustCrates() throws Exception {
        Map<String, String> vectors = Vectors.read("covey-api/tests/data/requests.txt");
        List<String> seen = new ArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            seen.add(exchange.getRequestMethod() + " " + exchange.getRequestURI() + " " + body);
            boolean isKnown = "Bearer secret".equals(exchange.getRequestHeaders().getFirst("Authorization"));
            String answer = isKnown ? "{\"id\": 7}" : "{\"detail\": \"who is it?\"}";
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(isKnown ? 200 : 401, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        try {
            URI address = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
            Coordinator coordinator = new Coordinator(address, "secret", Duration.ofSeconds(10));
            assertEquals(7, coordinator.register(COFLOW, "a key"));
            coordinator.update(7, Update.add(List.of(new Flow(2, 3, 5.0))));
            coordinator.update(7, new Update(List.of(), List.of(0), List.of(1), false));
            coordinator.label(new Community(7, List.of(new Community.Ends("10.0.0.1:40000", "10.0.0.2:9000"))));
            coordinator.keep(7);
            coordinator.end(7);
            assertEquals(List.of(
                    "POST /v1/coflows " + vectors.get("register"),
                    "PATCH /v1/coflows/7 " + vectors.get("update.add"),
                    "PATCH /v1/coflows/7 " + vectors.get("update.rest"),
                    "POST /v1/flows/community " + vectors.get("community"),
                    "POST /v1/coflows/7/keep {}",
                    "DELETE /v1/coflows/7 "), seen);
            Coordinator stranger = new Coordinator(address, "other", Duration.ofSeconds(10));
            RefusedException refused = assertThrows(RefusedException.class, () -> stranger.end(7));
            assertEquals(401, refused.status());
            assertTrue(refused.getMessage().contains("who is it?"), refused.getMessage());
        } finally {
            server.stop(0);
        }
    }

    @Test
    void aListIsReadToItsLastPage() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v1/agents", exchange -> {
            boolean isFirst = "limit=1000".equals(exchange.getRequestURI().getQuery());
            boolean isSecond = "limit=1000&cursor=7".equals(exchange.getRequestURI().getQuery());
            String answer = isFirst ? "{\"items\": [1, 2], \"next\": \"7\"}" : isSecond ? "{\"items\": [3]}" : "{}";
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        try {
            URI address = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
            Coordinator coordinator = new Coordinator(address, "secret", Duration.ofSeconds(10));
            assertEquals("[1, 2, 3]", coordinator.list("/v1/agents").toString());
        } finally {
            server.stop(0);
        }
    }

    @Test
    void aCoordinatorThatIsAwayIsAnError() {
        Coordinator away = new Coordinator(URI.create("http://127.0.0.1:1"), "secret", Duration.ofSeconds(2));
        assertThrows(IOException.class, () -> away.keep(1));
    }
}
