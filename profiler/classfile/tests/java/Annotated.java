import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;

/** Annotations of types at every kind of place within code. */
public class Annotated {
    @Target(ElementType.TYPE_USE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface Seen {
        int[] value() default {};
    }

    @Target(ElementType.TYPE_USE)
    @Retention(RetentionPolicy.CLASS)
    @interface Unseen {}

    static Object places(Object given) throws Exception {
        @Seen({1, 2}) List<@Unseen String> local = new @Seen ArrayList<@Unseen String>();
        try (java.io.@Unseen StringReader reader = new java.io.StringReader("x")) {
            local.add(String.valueOf(reader.read()));
        } catch (@Seen IllegalStateException | @Unseen IllegalArgumentException e) {
            return e;
        }
        if (given instanceof @Seen String) {
            return (@Unseen String) given;
        }
        java.util.function.Supplier<Object> made = @Seen Object::new;
        return local.<@Seen Object>toArray(new @Unseen Object @Seen [0])[0].toString() + (made.get() != null);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(places("given") + " " + places(7));
    }
}
