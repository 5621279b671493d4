package org.covey.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** Files that the tests of the Rust crates check, too: a name and what it stands for on each line. */
final class Vectors {
    private Vectors() {}

    static Map<String, String> read(String path) throws IOException {
        Map<String, String> all = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of("../crates").resolve(path))) {
            String[] parts = line.split(" ", 2);
            if (parts.length == 2 && !line.startsWith("#")) {
                all.put(parts[0], parts[1]);
            }
        }
        return all;
    }
}
