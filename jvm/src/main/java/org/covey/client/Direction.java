package org.covey.client;

/** Which side of a connection sends the flow. Its byte on the wire is its place here, from 1. */
public enum Direction {
    /** The side that opened the connection. */
    PUSHED,
    /** The other side. */
    PULLED;

    static Direction of(int number) {
        return number == 1 ? PUSHED : number == 2 ? PULLED : Bytes.refuse("a direction", number);
    }
}
