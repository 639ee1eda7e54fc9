# SPDX-License-Identifier: GPL-2.0-or-later
#
# ruby_burn.rb three|reuse SECONDS: three methods that burn CPU time equally long below C, and prints how
# long each did; or thousands of methods, made and dropped, each of which calls the burner of its number
# modulo 16, and prints how many there were.
require "json"

def spin(seconds)
  till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  1 while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
end

16.times { |i| eval("def burner_#{i}; spin(0.001); end") }

def reuse(seconds)
  till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  i = 0
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
    Class.new { class_eval("def made_#{i}; burner_#{i % 16}; end") }.new.send("made_#{i}")
    GC.start if i % 64 == 0
    i += 1
  end
  puts JSON.generate(i)
end

def first() [1].each { spin(0.01) } end
def second() [2, 1].sort_by { |x| spin(0.005) } end
def third() "a".gsub(/a/) { spin(0.01) } end

def three(seconds)
  used = Hash.new(0)
  while used.values.sum < seconds
    %i[first second third].each do |name|
      before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      send(name)
      used[name] += Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - before
    end
  end
  puts JSON.generate(used)
end

send(ARGV[0], ARGV[1].to_f)
