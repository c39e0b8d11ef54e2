import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads, links and so verifies every class below a directory, and writes what became of each.
 *
 * usage: Verify DIRECTORY RESULT. The directories META-INF/versions/N are roots of their own, before the main one.
 */
public final class Verify {
    public static void main(String[] arguments) throws Exception {
        Path main = Path.of(arguments[0]);
        try (PrintStream out = new PrintStream(arguments[1])) {
            verify(main, main, out);
            Path versions = main.resolve("META-INF/versions");
            if (Files.isDirectory(versions)) {
                for (Path version : sorted(Files.list(versions))) {
                    verify(version, main, out);
                }
            }
        }
        System.exit(0);
    }

    private static void verify(Path root, Path main, PrintStream out) throws IOException {
        URL[] path = {root.toUri().toURL(), main.toUri().toURL()};
        URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader());
        for (Path file : sorted(Files.walk(root))) {
            String name = root.relativize(file).toString();
            boolean other = name.startsWith("META-INF") || name.endsWith("module-info.class");
            if (name.endsWith(".class") && !other) {
                name = name.substring(0, name.length() - ".class".length()).replace('/', '.');
                out.println(main.relativize(root) + " " + name + " " + outcome(name, loader));
            }
        }
    }

    private static List<Path> sorted(Stream<Path> paths) {
        try (paths) {
            return paths.sorted().collect(Collectors.toList());
        }
    }

    /** Asking for the methods links the class, and does not initialise it. */
    private static String outcome(String name, ClassLoader loader) {
        try {
            Class.forName(name, false, loader).getDeclaredMethods();
            return "verified";
        } catch (Throwable thrown) {
            // Of a message of several lines the first says what, the others where.
            return thrown.toString().lines().findFirst().orElse("");
        }
    }
}
