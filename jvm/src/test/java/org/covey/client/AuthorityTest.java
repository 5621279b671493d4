package org.covey.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import org.covey.Covey;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients trust the authority of a file, and nobody else. */
class AuthorityTest {
    @Test
    void aCoordinatorWithTlsIsTrustedByTheFileOfItsAuthority(@TempDir Path folder) throws Exception {
        Covey.needed();
        Covey.initialise(folder);
        try (Covey.Server server = new Covey.Server(folder, 2, "sebf", List.of())) {
            assertEquals("https", server.clients.getScheme());
            assertTrue(server.client().portRate() > 0.0);
            String token = Files.readString(server.token()).strip();
            Coordinator stranger = new Coordinator(server.clients, token, Duration.ofSeconds(10));
            assertThrows(IOException.class, stranger::portRate);
        }
    }

    @Test
    void aFileWithoutCertificatesIsRefusedByName(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("ca.pem");
        assertThrows(IOException.class, () -> Authority.of(file));
        for (String text : List.of("", "secret", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")) {
            Files.writeString(file, text);
            IOException refused = assertThrows(IOException.class, () -> Authority.of(file));
            assertTrue(refused.getMessage().startsWith(file + ": expected certificates as PEM"), refused.getMessage());
        }
    }
}
