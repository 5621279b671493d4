package org.covey.spark;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** The warnings of the plug-in in this JVM, from now on. */
final class Said extends AbstractAppender implements AutoCloseable {
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Logger logger = (Logger) LogManager.getLogger("covey");

    Said() {
        super("said", null, null, true, Property.EMPTY_ARRAY);
        start();
        logger.addAppender(this);
    }

    @Override
    public void append(LogEvent event) {
        if (event.getLevel().isMoreSpecificThan(Level.WARN)) {
            lines.add(event.getMessage().getFormattedMessage());
        }
    }

    List<String> lines() {
        return lines;
    }

    @Override
    public void close() {
        logger.removeAppender(this);
        stop();
    }
}
