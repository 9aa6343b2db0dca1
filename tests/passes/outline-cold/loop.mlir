// adc opt --passes=outline-cold
// What is rare, and has a loop in it, becomes a function, so that the rest is compiled without it.

func.func @f(%x: memref<?xf64>, %n: index, %usual: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.if %usual {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } else {
    scf.for %i = %c0 to %n step %c1 {
      %at = adc.bound %i, %n : index
      %a = memref.load %x[%at] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%at] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } {adc.cold = "else"}
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index, %usual: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.if %usual {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } else {
    func.call @f.cold(%n, %x) : (index, memref<?xf64>) -> ()
    scf.yield
  } {adc.cold = "else"}
  func.return
}

func.func @f.cold(%n: index, %x: memref<?xf64>) attributes {adc.cold = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %at = adc.bound %i, %n : index
    %a = memref.load %x[%at] : memref<?xf64>
    %b = math.sin %a : f64
    memref.store %b, %x[%at] : memref<?xf64>
    scf.yield
  }
  func.return
}
