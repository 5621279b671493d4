package org.covey.client;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.Collection;

import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The authority of a coordinator's certificate, for clients whose JVM does not know it. */
public final class Authority {
    private Authority() {}

    /**
     * What trusts the authorities of a file, and nobody else.
     *
     * @param file certificates as PEM, such as {@code ca.pem} in the folder of a coordinator
     * @throws IOException if it cannot be read, or has no certificate
     */
    public static SSLContext of(Path file) throws IOException {
        try (InputStream bytes = Files.newInputStream(file)) {
            Collection<? extends Certificate> authorities = CertificateFactory.getInstance("X.509").generateCertificates(bytes);
            if (authorities.isEmpty()) {
                throw new IOException(file + ": expected certificates as PEM, found none");
            }
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            for (Certificate authority : authorities) {
                store.setCertificateEntry("authority-" + store.size(), authority);
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (CertificateException error) {
            throw new IOException(file + ": expected certificates as PEM: " + error.getMessage(), error);
        } catch (GeneralSecurityException error) {
            throw new IOException(file + ": " + error.getMessage(), error);
        }
    }
}
