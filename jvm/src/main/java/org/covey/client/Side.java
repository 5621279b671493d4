package org.covey.client;

/** The end of a flow at which an application has it open. Its byte on the wire is its place here. */
public enum Side {
    /** The host that sends it. */
    SENDS,
    /** The host that receives it. */
    RECEIVES;

    static Side of(int number) {
        return number < 2 ? values()[number] : Bytes.refuse("a side", number);
    }
}
