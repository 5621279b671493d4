package org.covey.client;

import java.io.IOException;

/** The other side has said what the protocol does not allow. */
public class ProtocolException extends IOException {
    private static final long serialVersionUID = 1;

    /**
     * What was wrong.
     *
     * @param message what was expected and what was found
     */
    public ProtocolException(String message) {
        super(message);
    }
}
