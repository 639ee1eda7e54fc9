// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JavaChurn SECONDS: classes that come and go. Each has a loader of its own and a method that runs
 * for some milliseconds, whose number, modulo 8, is that of the method that calls it. Prints how
 * many there were and, with -verbose:class or not, how many were unloaded.
 */
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;

public class JavaChurn {
    /* Its name's number is replaced in each copy. */
    public static class Made00000 {
        static volatile long sink;

        public static void burn00000(long until) {
            while (System.nanoTime() < until) {
                for (int i = 0; i < 1000; i++) {
                    sink += i;
                }
            }
        }
    }

    static class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static byte[] numbered(byte[] template, int number) {
        byte[] bytes = template.clone();
        byte[] digits = String.format("%05d", number).getBytes();
        for (int i = 0; i + 5 <= bytes.length; i++) {
            boolean isThere = true;
            for (int k = 0; k < 5; k++) {
                isThere &= bytes[i + k] == '0';
            }
            if (isThere) {
                System.arraycopy(digits, 0, bytes, i, 5);
            }
        }
        return bytes;
    }

    static void call(Method method, int milliseconds) throws Exception {
        method.invoke(null, System.nanoTime() + milliseconds * 1000000L);
    }

    static void caller0(Method method) throws Exception { call(method, 8); }
    static void caller1(Method method) throws Exception { call(method, 8); }
    static void caller2(Method method) throws Exception { call(method, 8); }
    static void caller3(Method method) throws Exception { call(method, 8); }
    static void caller4(Method method) throws Exception { call(method, 8); }
    static void caller5(Method method) throws Exception { call(method, 8); }
    static void caller6(Method method) throws Exception { call(method, 8); }
    static void caller7(Method method) throws Exception { call(method, 8); }

    static void run(byte[] template, int number) throws Exception {
        Class<?> made = new Loader().define(numbered(template, number));
        Method method = made.getMethod(String.format("burn%05d", number), long.class);
        switch (number % 8) {
        case 0: caller0(method); break;
        case 1: caller1(method); break;
        case 2: caller2(method); break;
        case 3: caller3(method); break;
        case 4: caller4(method); break;
        case 5: caller5(method); break;
        case 6: caller6(method); break;
        default: caller7(method);
        }
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
        byte[] template;
        try (InputStream stream = JavaChurn.class.getResourceAsStream("JavaChurn$Made00000.class")) {
            template = stream.readAllBytes();
        }
        int number = 1;
        for (; System.nanoTime() < end; number++) {
            run(template, number);
            if (number % 20 == 0) {
                System.gc();
            }
        }
        System.out.println(number + " " + ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
    }
}
