// SPDX-License-Identifier: GPL-2.0-or-later
//
// shares SECONDS: three methods that do the same work in turns, called by a sort of the library's, for so
// much CPU time.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

class Shares : IComparer<string>
{
    int turn;
    public static volatile int sink;

    [DllImport("libc")]
    static extern long clock(); // microseconds

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Work(int n) { for (int i = 0; i < 20000; i++) sink = n + i; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void First() { Work(1); sink = 1; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Second() { Work(2); sink = 2; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Third() { Work(3); sink = 3; }

    public int Compare(string a, string b)
    {
        switch (turn++ % 3)
        {
            case 0: First(); break;
            case 1: Second(); break;
            default: Third(); break;
        }
        return string.CompareOrdinal(a, b);
    }

    static int Main(string[] arguments)
    {
        long end = clock() + 1000000 * long.Parse(arguments[0]);
        Shares order = new Shares();
        while (clock() < end)
            new List<string> { "c", "b", "a", "d", "f", "e" }.Sort(order);
        return 0;
    }
}
