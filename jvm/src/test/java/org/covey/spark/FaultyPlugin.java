package org.covey.spark;

/** The plug-in with a fault in the callback that the system property {@code covey.fault} names. */
public final class FaultyPlugin extends CoveyPlugin {
    @Override
    protected Guard guard() {
        return new Guard() {
            @Override
            protected void before(String callback) {
                if (callback.equals(System.getProperty("covey.fault"))) {
                    throw new NoSuchMethodError("a fault for a test");
                }
            }
        };
    }
}
