package org.covey.client;

import java.io.IOException;

/** The coordinator has refused a request. */
public class RefusedException extends IOException {
    private static final long serialVersionUID = 1;

    private final int status;

    RefusedException(int status, String detail) {
        super("the coordinator refuses: " + status + " " + detail);
        this.status = status;
    }

    /** The HTTP status. */
    public int status() {
        return status;
    }
}
