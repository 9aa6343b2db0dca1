// adc opt --passes=inline
// A small function that is called in a loop becomes part of it.

func.func @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}

func.func @f(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = func.call @square(%a) : (f64) -> f64
    memref.store %b, %x[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    %y = arith.mulf %a, %a : f64
    memref.store %y, %x[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}
