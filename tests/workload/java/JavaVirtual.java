// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JavaVirtual hot|cold SECONDS: virtual threads that each stay below a known stack, and pause there all the
 * time, so that most of it is on the heap. If hot, it is compiled. Once they are there, a line for
 * each is printed, `METHOD<tab>METHOD…`, root first, as the machine itself has them, and an empty
 * one. Compiled for 17, which has no virtual threads: they are started by reflection.
 */
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class JavaVirtual {
    static final int THREADS = 2, DEPTH = 30;
    static volatile long sink;
    static volatile boolean isDone;

    static void burn() {
        long end = System.nanoTime() + 20000000;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 20000; i++) {
                sink += i;
            }
        }
    }

    static void spin() {
        while (!isDone) {
            Thread.yield();
            burn();
        }
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
            spin();
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
        if (arguments[0].equals("hot")) {
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
        System.out.println();
        System.out.flush();
        Thread.sleep(1000L * Integer.parseInt(arguments[1]));
        isDone = true;
    }
}
