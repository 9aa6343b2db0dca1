// adc opt --passes=inline-shared{grid=1}
// Steps on an array that is shared out become part of the caller, and what one call put into a record is what another one takes out of it.
// A function of numbers, and one of an array that all ranks have, stay.

func.func @half(%x: f64) -> f64 {
  %c = arith.constant 0.5 : f64
  %y = arith.mulf %x, %c : f64
  func.return %y : f64
}

func.func @small(%a: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %y = memref.load %a[%c0] : memref<?xf64>
  func.return %y : f64
}

func.func @step(%u: memref<?xf64>, %a: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %u[%i] : memref<?xf64>
    %y = func.call @half(%x) : (f64) -> f64
    %z = func.call @small(%a) : (memref<?xf64>) -> f64
    %w = arith.addf %y, %z : f64
    memref.store %w, %u[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

func.func @before(%u: memref<?xf64>, %a: memref<?xf64>, %n: index) -> !adc.record {
  func.call @step(%u, %a, %n) : (memref<?xf64>, memref<?xf64>, index) -> ()
  %r = adc.pack %u, %n : memref<?xf64>, index
  func.return %r : !adc.record
}

func.func @after(%a: memref<?xf64>, %r: !adc.record) {
  %u, %n = adc.unpack %r {contents = [[], []], roots = [[-1], []]} : memref<?xf64>, index
  func.call @step(%u, %a, %n) : (memref<?xf64>, memref<?xf64>, index) -> ()
  func.return
}

func.func @f(%u: memref<?xf64> {adc.axes = [[0, 0]], adc.name = "u"}, %a: memref<?xf64> {adc.name = "a"}) {
  %n = memref.dim %u, 0 : memref<?xf64>
  %r = func.call @before(%u, %a, %n) : (memref<?xf64>, memref<?xf64>, index) -> !adc.record
  func.call @after(%a, %r) : (memref<?xf64>, !adc.record) -> ()
  func.return
}

// becomes
func.func @half(%x: f64) -> f64 {
  %c = arith.constant 0.5 : f64
  %y = arith.mulf %x, %c : f64
  func.return %y : f64
}

func.func @small(%a: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %y = memref.load %a[%c0] : memref<?xf64>
  func.return %y : f64
}

func.func @f(%u: memref<?xf64> {adc.axes = [[0, 0]], adc.name = "u"}, %a: memref<?xf64> {adc.name = "a"}) {
  %n = memref.dim %u, 0 : memref<?xf64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %u[%i] : memref<?xf64>
    %y = func.call @half(%x) : (f64) -> f64
    %z = func.call @small(%a) : (memref<?xf64>) -> f64
    %w = arith.addf %y, %z : f64
    memref.store %w, %u[%i] : memref<?xf64>
    scf.yield
  }
  %r = adc.pack %u, %n : memref<?xf64>, index
  %c0_0 = arith.constant 0 : index
  %c1_0 = arith.constant 1 : index
  scf.for %i_0 = %c0_0 to %n step %c1_0 {
    %x_0 = memref.load %u[%i_0] : memref<?xf64>
    %y_0 = func.call @half(%x_0) : (f64) -> f64
    %z_0 = func.call @small(%a) : (memref<?xf64>) -> f64
    %w_0 = arith.addf %y_0, %z_0 : f64
    memref.store %w_0, %u[%i_0] : memref<?xf64>
    scf.yield
  }
  func.return
}
