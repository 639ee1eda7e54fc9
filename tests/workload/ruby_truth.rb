# SPDX-License-Identifier: GPL-2.0-or-later
#
# ruby_truth.rb LEAF: threads that each stay below a known stack of Ruby methods and blocks.
#
# LEAF is what they do at its end: burn, wait (one long sleep), or turns: nap (short sleeps), look
# (IO.select) or lock (a mutex that all want), by turns. Once they are all there, one line of JSON is printed: {TID: [[label,
# file, line], ...]}, root first, as the interpreter itself has them.
require "json"

LEAF = ARGV[0]
MUTEX = Mutex.new
PIPE = IO.pipe[0]
THERE = Queue.new

def burn() loop_of_burn end

def loop_of_burn
  n = 0
  n = n + 1 & 0xffff while true
end

def nap
  sleep 0.002 while true
end

def wait
  sleep
end

def look
  IO.select([PIPE], nil, nil, 0.002) while true
end

def lock
  MUTEX.synchronize { sleep 0.0005 } while true
end

def leaf
  THERE << true
  send(Thread.current.thread_variable_get(:leaf))
end

class Shape
  def area() by_each end
  def self.made() new.area end
  define_method(:defined) { |n = 1| Inner.new.find("abc") }
  def method_missing(name, *) name == :magic ? defined : super end
  def respond_to_missing?(*) true end

  class Inner
    def find(text)
      text =~ /b/ # leaves a variable of the method's own
      leaf
    end
  end
end

module Mixed
  def mixed() leaf end
end

class Mixture
  include Mixed
end

def by_each() [1].each { |x| leaf } end
def by_sort() [2, 1].sort_by { |x| leaf } end
def by_hash() Hash.new { |_, _| leaf }["x"] end
def by_gsub() "a".gsub(/a/) { leaf } end
def by_class() Shape.made end
def by_missing() Shape.new.magic end
def by_mixed() Mixture.new.mixed end
def by_eval() eval("leaf", binding, "made up", 1) end
def by_proc() proc { leaf }.call end
def by_fiber() Fiber.new { leaf }.resume end
def by_enumerator() Enumerator.new { |y| leaf }.next end
def by_comparison() [Mixture.new, Mixture.new].sort { |a, b| leaf } end

def by_rescue
  raise "x"
rescue RuntimeError
  leaf
ensure
  1.times { 2 }
end

def by_ensure
  1
ensure
  leaf
end

def deep(n = 100) n > 0 ? deep(n - 1) : leaf end

def künstlich() leaf end

# Before 3.1, threads don't say it: gettid, which is 186 on x86-64.
def own_tid
  Thread.current.respond_to?(:native_thread_id) ? Thread.current.native_thread_id : syscall(186)
end

KINDS = %i[by_each by_sort by_hash by_gsub by_class by_missing by_mixed by_eval by_proc by_fiber
           by_enumerator by_comparison by_rescue by_ensure deep künstlich]
threads = KINDS.map.with_index { |kind, i|
  Thread.new {
    Thread.current.thread_variable_set(:tid, own_tid)
    Thread.current.thread_variable_set(:leaf, LEAF == "turns" ? %w[nap look lock][i % 3] : LEAF)
    send(kind)
  }
}
threads.size.times { THERE.pop }
sleep 0.5
$stdout.sync = true
puts JSON.generate(threads.to_h { |thread|
  [thread.thread_variable_get(:tid), thread.backtrace_locations.reverse.map { |l| [l.label, l.path, l.lineno] }]
})
sleep
