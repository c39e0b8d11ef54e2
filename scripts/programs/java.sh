# Texts of random length are compressed by the native library; without the cause all are equally long.
options='--interval libzip.so!Java_java_util_zip_Deflater_deflateBytesBytes'
cause="\`deflate\` of texts of random length"
among=deflate

prepare() {
    package java default-jre-headless
    package javac default-jdk-headless
    title="OpenJDK $(java -version 2>&1 | sed -nE '1s/.*"(.*)".*/\1/p')"
    cat >"$place/Load.java" <<'JAVA'
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
public class Load {
    public static void main(String[] arguments) throws Exception {
        double seconds = Double.parseDouble(arguments[0]), period = Double.parseDouble(arguments[1]), passed;
        Random random = new Random(1);
        byte[] text = new byte[200000], to = new byte[300000], back = new byte[200000];
        for (int at = 0; at < text.length; at++) text[at] = (byte) ("abcdefgh ".charAt(random.nextInt(9)));
        long began = System.nanoTime(), wrong = 0;
        while ((passed = (System.nanoTime() - began) / 1e9) < seconds) {
            boolean slow = period == 0 || (int) (passed / period) % 2 == 1;
            int length = slow ? 1 + random.nextInt(text.length - 1) : 100000;
            Deflater deflater = new Deflater();
            deflater.setInput(text, 0, length);
            deflater.finish();
            int size = deflater.deflate(to);
            deflater.end();
            Inflater inflater = new Inflater();
            inflater.setInput(to, 0, size);
            if (inflater.inflate(back) != length || !Arrays.equals(text, 0, length, back, 0, length)) wrong++;
            inflater.end();
        }
        System.out.println(wrong + " wrong");
    }
}
JAVA
    javac -d "$place" "$place/Load.java"
}

run() {
    at_seconds=$1
    period=$2
    shift 2
    "$@" java -cp "$place" Load "$at_seconds" "$period"
}
