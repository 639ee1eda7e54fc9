// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JavaVirtual hot|cold|quick SECONDS: virtual threads that each stay below a known stack, and pause there all
 * the time, so that most of it is on the heap. If hot, it is compiled; if quick, so are the methods that
 * pause, and a collector runs all the time. Once they are there, a line for each is printed,
 * `METHOD<tab>METHOD…`, root first, as the machine itself has them, and an empty one. Compiled for 17, which
 * has no virtual threads: they are started by reflection.
 */
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class JavaVirtual {
    static final int THREADS = 2, DEPTH = 30, WARM_TURNS = 100000;
    static volatile long sink;
    static volatile boolean isDone;
    static boolean isQuick;

    static void burn(long nanoseconds) {
        long end = System.nanoTime() + nanoseconds;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 200; i++) {
                sink += i;
            }
        }
    }

    /** More arguments than fit into registers. */
    static void spin(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
        for (int turns = 0; !isDone; turns++) {
            Thread.yield();
            burn(!isQuick ? 20000000 : turns < WARM_TURNS ? 20000 : 1000000);
        }
        sink += a + b + c + d + e + f + g + h + i + j;
    }

    static void odd(int depth, boolean isLast) {
        deep(depth, isLast);
        sink++;
    }

    static void deep(int depth, boolean isLast) {
        if (depth > 0) {
            odd(depth - 1, isLast);
            sink++;
        } else if (isLast) {
            spin(depth, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        }
    }

    static void root() {
        deep(DEPTH, true);
    }

    static String describe(Thread thread) {
        List<StackTraceElement> elements = new ArrayList<>(Arrays.asList(thread.getStackTrace()));
        StringBuilder text = new StringBuilder();
        for (int i = elements.size(); i-- > 0;) {
            StackTraceElement element = elements.get(i);
            text.append(text.length() == 0 ? "" : "\t").append(element.getClassName()).append('.')
                .append(element.getMethodName());
        }
        return text.toString();
    }

    public static void main(String[] arguments) throws Exception {
        isQuick = arguments[0].equals("quick");
        if (!arguments[0].equals("cold")) {
            for (int i = 0; i < 30000; i++) {
                deep(DEPTH, false);
            }
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            threads.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                .invoke(null, (Runnable) JavaVirtual::root));
        }
        for (Thread thread : threads) {
            String text = describe(thread);
            while (!text.endsWith("JavaVirtual.spin\tJavaVirtual.burn")) {
                Thread.sleep(1);
                text = describe(thread);
            }
            System.out.println(text);
        }
        if (isQuick) {
            Thread.sleep(4000); // until they are compiled
        }
        System.out.println();
        System.out.flush();
        long end = System.nanoTime() + 1000000000L * Integer.parseInt(arguments[1]);
        while (System.nanoTime() < end) {
            Thread.sleep(100);
            if (isQuick) {
                System.gc();
            }
        }
        isDone = true;
    }
}
