package org.covey.spark;

/**
 * The plug-in with a fault in a callback: the one that the system property {@code covey.fault} names, or, in an
 * executor, the variable COVEY_FAULT of the environment.
 */
public final class FaultyPlugin extends CoveyPlugin {
    @Override
    protected Guard guard() {
        return new Guard() {
            @Override
            protected void before(String callback) {
                if (callback.equals(System.getProperty("covey.fault", System.getenv("COVEY_FAULT")))) {
                    throw new NoSuchMethodError("a fault for a test");
                }
            }
        };
    }
}
